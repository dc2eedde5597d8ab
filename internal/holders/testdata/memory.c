// memory.c MODE uses memory in one way, writes "ready", and waits. For each line "trim" on its input it calls
// malloc_trim(0) and writes "done". Only in the mode huge does it have huge pages.
//
//   gcc -O1 -pthread -o memory memory.c
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { KIB = 1 << 10, MIB = 1 << 20, MOST = 4 << 20, THREADS = 16 };

static void *kept[MOST];

static void *filled(size_t size) {
  void *p = malloc(size);
  if (p == NULL)
    abort();
  return memset(p, 1, size);
}

static void *map(size_t size, int flags, int fd) {
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (p == MAP_FAILED)
    abort();
  return p;
}

// second allocates 100 MiB in blocks of 1 KiB, and frees every second one.
static void second(void) {
  for (int i = 0; i < 100 * KIB; i++)
    kept[i] = filled(KIB - 16);
  for (int i = 0; i < 100 * KIB; i += 2)
    free(kept[i]);
}

// gaps allocates 64 MiB in blocks of 4,000 bytes, and keeps one in 64 KiB.
static void gaps(void) {
  for (int i = 0; i < 16 * KIB; i++)
    kept[i] = filled(4000);
  for (int i = 0; i < 16 * KIB; i++)
    if (i % 16)
      free(kept[i]);
}

// pinned allocates 16,384 times 8,000 bytes and then 88, and frees the large blocks: of two pages, one has a block
// that lives, and the other is free.
static void pinned(void) {
  for (int i = 0; i < 16 * KIB; i++) {
    kept[i] = filled(8000);
    kept[16 * KIB + i] = filled(88);
  }
  for (int i = 0; i < 16 * KIB; i++)
    free(kept[i]);
}

// mixed has rounds of 2,000 requests of sizes up to 3,000 bytes, each of which leaves a session of 104 bytes behind.
static void mixed(void) {
  static char *request[2000];
  unsigned seed = 1;
  int n = 0;
  for (int round = 0; round < 40; round++) {
    for (int i = 0; i < 2000; i++) {
      request[i] = filled(1000 + rand_r(&seed) % 2000);
      kept[n++] = filled(104);
    }
    for (int i = 0; i < 2000; i++)
      free(request[i]);
  }
  // A peak, which ends: 40,000 requests at once.
  static char *peak[40000];
  for (int i = 0; i < 40000; i++) {
    peak[i] = filled(1000 + rand_r(&seed) % 2000);
    kept[n++] = filled(104);
  }
  for (int i = 0; i < 40000; i++)
    free(peak[i]);
  for (int i = 0; i < 20; i++) { // lets jemalloc return what has been free for a while
    usleep(100000);
    free(filled(64));
  }
}

// same allocates 1,000,000 blocks of 104 bytes and keeps every fiftieth: their sizes are not different.
static void same(void) {
  for (int i = 0; i < 1000000; i++)
    kept[i] = filled(104);
  for (int i = 0; i < 1000000; i++)
    if (i % 50)
      free(kept[i]);
}

static pthread_barrier_t barrier, all_done;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int at_once, no_end;

// burst needs 8 MiB for a short time. A block that lives keeps the end of the arena, unless no_end is set.
static void *burst(void *unused) {
  (void)unused;
  void *blocks[2 * KIB];
  free(filled(100)); // takes an arena
  pthread_barrier_wait(&barrier);
  if (!at_once)
    pthread_mutex_lock(&turn);
  for (int i = 0; i < 2 * KIB; i++)
    blocks[i] = filled(4000);
  void *end = no_end ? NULL : filled(2000);
  if (at_once)
    pthread_barrier_wait(&barrier);
  for (int i = 0; i < 2 * KIB; i++)
    free(blocks[i]);
  if (!at_once)
    pthread_mutex_unlock(&turn);
  pthread_barrier_wait(&all_done);
  pause();
  return end;
}

// arenas lets 16 threads have such a burst, one after the other or at once.
static void arenas(void) {
  pthread_barrier_init(&barrier, NULL, THREADS);
  pthread_barrier_init(&all_done, NULL, THREADS + 1);
  pthread_t thread;
  for (int i = 0; i < THREADS; i++)
    pthread_create(&thread, NULL, burst, NULL);
  pthread_barrier_wait(&all_done);
}

// cached leaves 7 blocks of each size in the cache of the thread.
static void cached(void) {
  for (int size = 24; size <= 1032; size += 16)
    for (int i = 0; i < 7; i++)
      kept[i * 100 + size / 16] = filled(size);
  filled(24);
  for (int size = 24; size <= 1032; size += 16)
    for (int i = 0; i < 7; i++)
      free(kept[i * 100 + size / 16]);
}

// mapped allocates 20 blocks of 1 MiB, and writes to the first half of each.
static void mapped(void) {
  for (int i = 0; i < 20; i++)
    memset(kept[i] = malloc(MIB), 1, MIB / 2);
}

static void *deep(void *size) {
  char room[(size_t)size];
  memset(room, 1, (size_t)size);
  __asm__ volatile("" : : "r"(room) : "memory");
  pthread_barrier_wait(&barrier);
  if ((size_t)size > MIB)
    pause();
  return NULL;
}

// stacks has 8 threads that use 2 MiB of their stacks, and 5 that have ended and used 512 KiB.
static void stacks(void) {
  pthread_t thread[13];
  pthread_barrier_init(&barrier, NULL, 14);
  for (int i = 0; i < 13; i++)
    pthread_create(&thread[i], NULL, deep, (void *)(size_t)(i < 8 ? 2 * MIB : MIB / 2));
  pthread_barrier_wait(&barrier);
  for (int i = 8; i < 13; i++)
    pthread_join(thread[i], NULL);
}

// shared has 8 MiB of anonymous shared memory and 4 MiB of memfd_create.
static void shared(void) {
  memset(map(8 * MIB, MAP_SHARED | MAP_ANONYMOUS, -1), 1, 8 * MIB);
  int fd = memfd_create("frames", 0);
  if (ftruncate(fd, 4 * MIB) != 0)
    abort();
  memset(map(4 * MIB, MAP_SHARED, fd), 1, 4 * MIB);
}

// file maps a file of 6 MiB, of which it writes to copies of 2 MiB.
static void file(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  char *content = calloc(1, 6 * MIB);
  if (write(fd, content, 6 * MIB) != 6 * MIB)
    abort();
  free(content);
  char *p = map(4 * MIB, MAP_SHARED, fd);
  volatile char sum = 0;
  for (int i = 0; i < 4 * MIB; i += KIB)
    sum += p[i];
  memset(map(2 * MIB, MAP_PRIVATE, fd), 1, 2 * MIB);
  kept[0] = (void *)(size_t)sum;
}

// zero reads 16 MiB that nobody has written to.
static void zero(void) {
  char *p = map(16 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  madvise(p, 16 * MIB, MADV_NOHUGEPAGE);
  volatile char sum = 0;
  for (int i = 0; i < 16 * MIB; i += KIB)
    sum += p[i];
  kept[0] = (void *)(size_t)sum;
}

// unforked has 8 MiB that children do not get.
static void unforked(void) {
  madvise(memset(map(8 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1), 1, 8 * MIB), 8 * MIB, MADV_DONTFORK);
}

// huge writes a page in each 64 KiB of 32 MiB, for which it wants huge pages.
static void huge(void) {
  char *p = aligned_alloc(2 * MIB, 32 * MIB);
  madvise(p, 32 * MIB, MADV_HUGEPAGE);
  for (int i = 0; i < 32 * MIB; i += 64 * KIB)
    p[i] = 1;
  kept[0] = p;
}

static char variables[3 * MIB];

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  if (strcmp(mode, "huge") || getenv("NO_HUGE_PAGES"))
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  if (!strcmp(mode, "second"))
    second();
  if (!strcmp(mode, "gaps") || !strcmp(mode, "locked"))
    gaps();
  if (!strcmp(mode, "pinned"))
    pinned();
  if (!strcmp(mode, "mixed"))
    mixed();
  if (!strcmp(mode, "same"))
    same();
  if (!strcmp(mode, "arenas"))
    arenas();
  if (!strcmp(mode, "at-once")) {
    at_once = 1;
    arenas();
  }
  if (!strcmp(mode, "ends")) { // a large block that is freed raises the threshold: the ends stay
    free(filled(20 * MIB));
    no_end = 1;
    arenas();
  }
  if (!strcmp(mode, "cached"))
    cached();
  if (!strcmp(mode, "mapped"))
    mapped();
  if (!strcmp(mode, "stacks"))
    stacks();
  if (!strcmp(mode, "shared"))
    shared();
  if (!strcmp(mode, "file"))
    file(argv[2]);
  if (!strcmp(mode, "zero"))
    zero();
  if (!strcmp(mode, "unforked"))
    unforked();
  if (!strcmp(mode, "huge"))
    huge();
  if (!strcmp(mode, "variables"))
    memset(variables, 1, sizeof variables);
  if (!strcmp(mode, "locked"))
    mlockall(MCL_CURRENT);
  setvbuf(stdin, NULL, _IONBF, 0); // a buffer would make malloc merge free blocks later
  setvbuf(stdout, NULL, _IONBF, 0);
  puts("ready");
  char line[16];
  while (fgets(line, sizeof line, stdin)) {
    malloc_trim(0);
    puts("done");
  }
}
