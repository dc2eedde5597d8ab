// Programs that use their process in unusual ways. What they print, and how they end, is the same without
// the engine. Usage: moments WHAT [ARG]
//
//	signal HOW HANDLED   SIGTERM behind a seccomp filter, which is installed by prctl, seccomp or syscall
//	signal-child HOW HANDLED, likewise in a child
//	fork                 a child behind a filter
//	dispatch             system calls outside of the C library are sent to a handler
//	unshare              an unshare by syscall() that needs a process with one thread
//	stacks               a thread has the thread pointer of one whose stack was larger
//	threads              children of a system call, whose threads all allocate at once
//	edges                arguments that no allocator accepts, and errno
//	limit                a limit of address space
//	descriptors          a thread closes and replaces all descriptors
//	no-descriptors       a limit that permits no new descriptor
//	memory               children that share memory, descriptors or the working directory
//	jumps                handlers of SIGTERM and SIGINT that do not return
//	main                 the first thread ends
//	busy                 many snapshots are due; prints the number of open descriptors
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "filter.h"

static void allocate(int n) {
	for (int i = 0; i < n; i++) {
		char *volatile p = malloc(100000);
		p[0] = 1;
		free(p);
	}
}

static void say(const char *s) { (void)!write(1, s, strlen(s)); }

// --- seccomp ---

static int install(const char *how) {
	static const int permitted[] = {
		SYS_write, SYS_exit_group, SYS_rt_sigreturn, SYS_brk, SYS_mmap, SYS_munmap, SYS_wait4, SYS_clone, SYS_sched_yield,
	};
	struct filter f;
	struct sock_fprog *program =
		filter_make(&f, permitted, sizeof permitted / sizeof *permitted, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
	if (!strcmp(how, "prctl")) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
	if (!strcmp(how, "seccomp")) return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
	return (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
}

static void on_term(int sig) {
	(void)sig;
	say("handled\n");
	_exit(7);
}

// signal_behind installs a filter, and is sent SIGTERM then.
static int signal_behind(const char *how, int handled) {
	int ends[2];
	char c;
	pid_t me = getpid();
	if (pipe(ends)) return 1;
	if (fork() == 0) {
		close(ends[1]);
		if (read(ends[0], &c, 1) == 1) kill(me, SIGTERM);
		_exit(0);
	}
	if (handled) signal(SIGTERM, on_term);
	allocate(2000);
	if (install(how)) return 3;
	if (write(ends[1], "x", 1) != 1) return 4;
	allocate(2000);
	for (;;) sched_yield();
}

static int in_child(const char *how, int handled) {
	int status = -1;
	pid_t child = fork();
	if (child == 0) _exit(signal_behind(how, handled));
	waitpid(child, &status, 0);
	printf("%x\n", status);
	return 0;
}

static int fork_behind(void) {
	int status = -1;
	char text[16];
	allocate(2000);
	if (install("prctl")) return 3;
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		allocate(2000);
		_exit(5);
	}
	syscall(SYS_wait4, child, &status, 0, 0);
	snprintf(text, sizeof text, "%x\n", status);
	say(text);
	_exit(0);
}

static volatile int dispatched;
static char selector;

static void on_call(int sig) {
	(void)sig;
	selector = 0;
	dispatched++;
}

static int dispatch(void) {
	enum { SET_DISPATCH = 59, ON = 1 };
	unsigned long start = 0, end = 0, from, to;
	char line[512], mode[8];
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f))
		if (strstr(line, "/libc") && sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 && strchr(mode, 'x')) start = from, end = to;
	if (f) fclose(f);
	signal(SIGSYS, on_call);
	allocate(2000);
	selector = 1;
	if (prctl(SET_DISPATCH, ON, start, end - start, &selector)) selector = 0; // before Linux 5.11
	allocate(2000);
	selector = 0;
	printf("%d\n", dispatched);
	return 0;
}

static int raw_unshare(void) {
	allocate(2000);
	usleep(100000); // the engine's thread begins
	errno = 0;
	long result = syscall(SYS_unshare, CLONE_VM);
	printf("%ld %d\n", result, errno);
	return 0;
}

// --- threads ---

enum { KIB = 1024, REGION = 1 << 20 };
static char *region;
static ucontext_t outside, inside;

static __attribute__((noinline)) void deep(int n) {
	volatile char pad[4000];
	pad[0] = 1;
	if (n > 0) deep(n - 1);
	else allocate(50);
	pad[1] = pad[0];
}

static void *use_all(void *arg) {
	deep(220);
	return arg;
}

// call_with calls f(n) with a value in the frame pointer that points to no frame, as code may do that does
// not use it. It has no call frame information.
void *call_with(void *value, void *(*f)(size_t), size_t n);
#ifdef __x86_64__
__asm__(".text\n.type call_with, @function\ncall_with:\n"
	"push %rbp\nmov %rdi, %rbp\nmov %rsi, %rax\nmov %rdx, %rdi\ncall *%rax\npop %rbp\nret\n");
#else
__asm__(".text\n.type call_with, %function\ncall_with:\n"
	"stp x29, x30, [sp, -16]!\nmov x29, x0\nmov x0, x2\nblr x1\nldp x29, x30, [sp], 16\nret\n");
#endif

static void coroutine(void) {
	for (int i = 0; i < 50; i++) free(call_with(region + 600 * KIB, malloc, 100000));
	swapcontext(&inside, &outside);
}

static void *use_part(void *arg) {
	getcontext(&inside);
	inside.uc_stack.ss_sp = region + 256 * KIB;
	inside.uc_stack.ss_size = 128 * KIB;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	swapcontext(&outside, &inside);
	return arg;
}

static int run_on(char *stack, size_t size, void *(*f)(void *)) {
	pthread_attr_t a;
	pthread_t t;
	pthread_attr_init(&a);
	return pthread_attr_setstack(&a, stack, size) || pthread_create(&t, &a, f, NULL) || pthread_join(t, NULL);
}

// stacks runs a thread on all of a region, then one on its upper quarter. What lies below that is not
// accessible, except for the stack of a coroutine.
static int stacks(void) {
	region = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED || run_on(region, REGION, use_all)) return 1;
	mprotect(region + 512 * KIB, 256 * KIB, PROT_NONE);
	if (run_on(region + 768 * KIB, 256 * KIB, use_part)) return 1;
	puts("fine");
	return 0;
}

enum { HERD = 8 };
static pthread_barrier_t barrier;

static void *start_together(void *arg) {
	pthread_barrier_wait(&barrier);
	allocate(100);
	return arg;
}

static void herd(void) {
	pthread_t t[HERD];
	alarm(300); // a child that hangs ends
	pthread_barrier_init(&barrier, NULL, HERD);
	for (int i = 0; i < HERD; i++) pthread_create(&t[i], NULL, start_together, NULL);
	for (int i = 0; i < HERD; i++) pthread_join(t[i], NULL);
	_exit(0);
}

static int herds(int n) {
	for (int i = 0; i < n; i++) {
		int status = -1;
		pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (child == 0) herd();
		waitpid(child, &status, 0);
		if (status) printf("%x\n", status);
	}
	return 0;
}

static void *after_main(void *arg) {
	usleep(100000);
	allocate(3000);
	puts("after");
	exit(0);
	return arg;
}

// --- allocations ---

static void show(const char *what, void *p) {
	printf("%s %d %d\n", what, p != NULL, errno);
	free(p);
}
#define TRY(call) (errno = 0, show(#call, call))

static void show_aligned(size_t alignment, size_t size) {
	void *p = (void *)77;
	errno = 0;
	int result = posix_memalign(&p, alignment, size);
	printf("%zu %zu: %d %d %d\n", alignment, size, result, errno, p != (void *)77);
	if (!result) free(p);
}

static void failures(void) {
	volatile size_t big = SIZE_MAX, half = SIZE_MAX / 2, one = 1, zero = 0;
	TRY(malloc(big)), TRY(malloc(half)), TRY(malloc(half - 4096)), TRY(malloc(zero)), TRY(calloc(big, 2));
	TRY(calloc(half, 3)), TRY(calloc(zero, big)), TRY(calloc(big, zero)), TRY(calloc(one, one));
	TRY(reallocarray(NULL, big, 2)), TRY(reallocarray(NULL, 3, 5)), TRY(reallocarray(malloc(10), zero, 5));
	TRY(realloc(malloc(10), zero)), TRY(realloc(NULL, zero)), TRY(realloc(NULL, big));
	TRY(aligned_alloc(64, big)), TRY(aligned_alloc(3, 64)), TRY(aligned_alloc(zero, 64));
	TRY(aligned_alloc(one << 40, 64)), TRY(aligned_alloc(one << 62, 64)), TRY(aligned_alloc(one << 63, 64));
	TRY(aligned_alloc(1 << 21, 100)), TRY(memalign(half, 64)), TRY(memalign(48, 64)), TRY(memalign(zero, zero));
	TRY(valloc(big)), TRY(valloc(zero)), TRY(pvalloc(big)), TRY(pvalloc(1)), TRY(valloc(100));
	show_aligned(3, 10), show_aligned(64, big), show_aligned(0, 10), show_aligned(one << 40, 10), show_aligned(4096, 0);
	void *p = malloc(100), *q = realloc(p, big);
	printf("%d %zu\n", q != NULL, malloc_usable_size(p));
	free(p);
}

static void errno_stays(void) {
	errno = 77;
	for (int i = 0; i < 3000; i++) {
		void *p = realloc(malloc(50000), 90000), *q = calloc(10, 10000);
		free(p);
		free(q);
		void *m = mmap(NULL, 1 << 17, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		m = mremap(m, 1 << 17, 1 << 18, MREMAP_MAYMOVE);
		munmap(m, 1 << 18);
	}
	printf("%d\n", errno);
	errno = 0;
	void *m = mmap(NULL, SIZE_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("%d %d\n", m == MAP_FAILED, errno);
	printf("%d %d\n", munmap((void *)1, 4096), errno);
}

static int edges(void) {
	for (int i = 0; i < 3; i++) {
		failures();
		errno_stays();
	}
	return 0;
}

static int limit(void) {
	struct rlimit most = {512 << 20, 512 << 20};
	void *first = NULL, *p;
	setrlimit(RLIMIT_AS, &most);
	for (errno = 0; (p = malloc(1 << 20)) != NULL; first = p) *(void **)p = first;
	printf("%d\n", errno);
	for (int i = 0; i < 1000; i++)
		if (malloc(4 << 20) || errno != ENOMEM) puts("odd");
	for (; first; first = p) {
		p = *(void **)first;
		free(first);
	}
	return 0;
}

// --- descriptors and memory ---

static volatile int stop;

static void *replace(void *arg) {
	while (!stop) {
		for (int fd = 3; fd < 64; fd++) close(fd);
		for (int fd = 3; fd < 20; fd++) dup2(2, fd);
	}
	return arg;
}

static int descriptors(void) {
	pthread_t t;
	pthread_create(&t, NULL, replace, NULL);
	allocate(10000);
	stop = 1;
	pthread_join(t, NULL);
	for (int fd = 3; fd < 64; fd++) close(fd);
	printf("%d\n", dup(0));
	return 0;
}

static int no_descriptors(void) {
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
	allocate(10000);
	return 0;
}

static struct { const char *how; void *kept; } sharing;

static int share(void *arg) {
	allocate(1000);
	sharing.kept = malloc(1000);
	close(0);
	if (!strcmp(sharing.how, "exit")) _exit(0);
	if (!strcmp(sharing.how, "kill")) kill(getpid(), SIGKILL);
	return (int)(intptr_t)arg;
}

static int memory(void) {
	static char stack[256 << 10] __attribute__((aligned(16)));
	static const char *const ends[] = {"return", "exit", "kill"};
	static const int flags[] = {
		CLONE_VM, CLONE_VM | CLONE_FILES, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND, CLONE_VM | CLONE_VFORK, CLONE_FILES, CLONE_FS,
	};
	allocate(1000);
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		for (int k = 0; k < 3; k++) {
			int status = -1;
			sharing.how = ends[k];
			pid_t child = clone(share, stack + sizeof stack, flags[i] | SIGCHLD, NULL);
			waitpid(child, &status, 0);
			if (flags[i] & CLONE_VM) free(sharing.kept);
			printf("%zu %s %x\n", i, ends[k], status);
			allocate(100);
		}
	return 0;
}

static sigjmp_buf jump;
static volatile int jumped;

static void jump_out(int sig) {
	(void)sig;
	jumped++;
	siglongjmp(jump, 1);
}

static int jumps(void) {
	enum { TIMES = 6 };
	signal(SIGTERM, jump_out);
	signal(SIGINT, jump_out);
	for (volatile int i = 0; i < TIMES; i++)
		if (sigsetjmp(jump, 1) == 0) kill(getpid(), i % 2 ? SIGTERM : SIGINT);
	allocate(1000);
	printf("%d\n", jumped);
	return 0;
}

static int busy(void) {
	int n = 0;
	allocate(3000);
	DIR *d = opendir("/proc/self/fd");
	while (d && readdir(d)) n++;
	printf("%d\n", n);
	return 0;
}

static const struct {
	const char *what;
	int (*run)(void);
} others[] = {
	{"fork", fork_behind}, {"dispatch", dispatch}, {"unshare", raw_unshare}, {"stacks", stacks}, {"edges", edges}, {"limit", limit},
	{"descriptors", descriptors}, {"no-descriptors", no_descriptors}, {"memory", memory}, {"jumps", jumps}, {"busy", busy},
};

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "";
	int handled = argc > 3 && !strcmp(argv[3], "handled");
	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(what, "signal")) return signal_behind(arg, handled);
	if (!strcmp(what, "signal-child")) return in_child(arg, handled);
	if (!strcmp(what, "threads")) return herds(atoi(arg));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(what, others[i].what)) return others[i].run();
	if (strcmp(what, "main")) return 2;
	pthread_t t;
	pthread_create(&t, NULL, after_main, NULL);
	pthread_exit(NULL);
}
