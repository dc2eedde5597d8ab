// The service of service.py in C: service KIND CAP [workers N]
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct session {
  long key;
  struct session *next;
  char *body;
};

static const char *kind;
static long cap;

// --- a linked list ---
static struct session *first, **last = &first;

static struct session *make_session(long key, long size) {
  struct session *s = malloc(sizeof *s);  // leak: list
  s->key = key;
  s->next = NULL;
  s->body = malloc(size);  // leak: list
  memset(s->body, 'x', size);
  return s;
}

static void drop_session(struct session *s) {
  free(s->body);
  free(s);
}

static void list_add(struct session *s) {
  *last = s;
  last = &s->next;
}

static void list_remove(long key) {
  for (struct session **at = &first; *at; at = &(*at)->next) {
    struct session *s = *at;
    if (s->key != key) continue;
    *at = s->next;
    if (!*at) last = at;
    drop_session(s);
    return;
  }
}

// --- a hash table with chains ---
enum { BUCKETS = 4096 };
struct page {
  long key;
  struct page *next;
  char text[];
};
static struct page *pages[BUCKETS];

static struct page *make_page(long key, long size) {
  struct page *p = calloc(1, sizeof *p + size);  // leak: hash
  p->key = key;
  return p;
}

static void hash_add(struct page *p) {
  p->next = pages[p->key % BUCKETS];
  pages[p->key % BUCKETS] = p;
}

static void hash_remove(long key) {
  for (struct page **at = &pages[key % BUCKETS]; *at; at = &(*at)->next) {
    struct page *p = *at;
    if (p->key != key) continue;
    *at = p->next;
    free(p);
    return;
  }
}

// --- an array of messages, which grows by half of its size ---
struct message {
  long key;
  char *text;
};
static struct message *messages;
static long count, room;

static char *make_message(long size) {
  char *filled = malloc(size + 1);
  memset(filled, 'm', size);
  filled[size] = 0;
  char *text = strdup(filled);  // leak: array
  free(filled);
  return text;
}

static void array_add(long key, char *text) {
  if (count == room) {
    room += room / 2 + 64;
    messages = realloc(messages, room * sizeof *messages);  // leak: array
  }
  messages[count++] = (struct message){key, text};
}

static void array_remove(long key) {
  for (long i = 0; i < count; i++) {
    if (messages[i].key != key) continue;
    free(messages[i].text);
    memmove(messages + i, messages + i + 1, (--count - i) * sizeof *messages);
    return;
  }
}

// --- requests ---
static void drop(long key) {
  if (!strcmp(kind, "list")) list_remove(key);
  if (!strcmp(kind, "hash")) hash_remove(key);
  if (!strcmp(kind, "array")) array_remove(key);
}

static void keep(long key, long size) {
  if (!strcmp(kind, "list")) list_add(make_session(key, size));
  if (!strcmp(kind, "hash")) hash_add(make_page(key, size));
  if (!strcmp(kind, "array")) array_add(key, make_message(size));
  if (cap && key > cap) drop(key - cap);
}

static void once(long size) {
  if (!strcmp(kind, "list")) drop_session(make_session(0, size));
  if (!strcmp(kind, "hash")) free(make_page(0, size));
  if (!strcmp(kind, "array")) free(make_message(size));
}

static char *recent[4096];

static void note(long slot, long size) {
  free(recent[slot % 4096]);
  recent[slot % 4096] = malloc(size);
  memset(recent[slot % 4096], 'r', size);
}

static void serve(const char *line) {
  long a = 0, b = 0;
  sscanf(line + 1, "%ld %ld", &a, &b);
  switch (line[0]) {
    case 'k': keep(a, b); break;
    case 't': once(a); break;
    case 'd': drop(a); break;
    case 'b': note(a, b); break;
  }
}

static void serve_all(FILE *from) {
  char line[128];
  while (fgets(line, sizeof line, from)) serve(line);
}

// --- worker processes, each with a pipe ---
struct worker {
  pid_t pid;
  FILE *to;
};

static struct worker start_worker(struct worker *others, int started) {
  int ends[2];
  if (pipe(ends)) exit(1);
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[1]);
    for (int i = 0; i < started; i++) close(fileno(others[i].to));
    serve_all(fdopen(ends[0], "r"));
    _exit(0);
  }
  close(ends[0]);
  return (struct worker){pid, fdopen(ends[1], "w")};
}

static void start_workers(struct worker *workers, int n) {
  for (int i = 0; i < n; i++) workers[i] = start_worker(workers, i);
}

static void serve_in_workers(int n) {
  struct worker workers[16];
  char line[128];
  long turn = 0;
  start_workers(workers, n);
  while (fgets(line, sizeof line, stdin)) {
    if (line[0] == 'x') {
      for (int i = 0; i < n; i++) fclose(workers[i].to);
      for (int i = 0; i < n; i++) waitpid(workers[i].pid, NULL, 0);
      start_workers(workers, n);
      continue;
    }
    // The key that a cache releases belongs to the worker that has it.
    long key = atol(line + 1), place = line[0] == 't' ? turn++ : line[0] != 'b' && cap ? key % cap : key;
    FILE *to = workers[place % n].to;
    fputs(line, to);
    fflush(to);
  }
}

int main(int argc, char **argv) {
  kind = argv[1];
  cap = atol(argv[2]);
  if (argc > 4)
    serve_in_workers(atoi(argv[4]));
  else
    serve_all(stdin);
}
