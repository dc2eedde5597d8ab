// The recorder's agent is a small preloaded library that replaces some functions for the profiling
// allocator only.
//
// It finds the allocator among the loaded objects and writes the addresses of its own functions
// into the allocator's table of imports (the slots of its PLT). The program and its other libraries
// are not affected. The agent replaces
//
//   open, creat  for paths that begin with the recording's prefix. The file name gets the number of
//                the process and the next free sequence number, so that no process and no process
//                image overwrites files of another.
//   time         (tcmalloc) for the timer. gperftools takes a snapshot when time() has advanced by
//                its interval. The replacement advances when a snapshot is due.
//   write,       to drop the allocator's messages about snapshots and signals to standard error.
//   syscall
//   signal       (tcmalloc) to learn which function takes a snapshot.
//   close        to learn when a snapshot is complete.
//   _Unwind_Backtrace, unw_backtrace
//                (jemalloc) for the timer: see "the timer of jemalloc".
//
// It does the same in libunwind, which some allocators use, and replaces there
//
//   pipe2, read, write, syscall, close
//                to keep libunwind from opening files: see "the pipe of libunwind".
//
// The agent also handles SIGINT and SIGTERM before the program does, to take a last snapshot: see
// "the last snapshot". The program does not notice, because the agent defines sigaction and signal,
// which return the program's own handlers.
//
// Sources: gperftools src/heap-profiler.cc (DumpProfileLocked, MaybeDumpProfileLocked),
// src/base/sysinfo.cc (GetUniquePathFromEnv); jemalloc src/prof_sys.c (prof_dump_filename,
// prof_backtrace, prof_mdump), src/malloc_io.c; ELF gABI, "Dynamic Section".
//
// The allocator calls the agent with its locks held, so the agent never allocates memory and takes
// no locks. It is linked against no library, so it works with any C library. The functions of the C
// library that it uses, and the constants of the processor, are declared below.
//
// The variable HEAPLAPSE_RECORD="EVERY PART CHILDREN MAIN PREFIX" configures the agent. A timed
// snapshot is due after EVERY milliseconds, or after 1/PART of the time since the process started
// if that is longer. PART 0 turns the second rule off, EVERY 0 the timer. PREFIX is an absolute
// path. If CHILDREN is 0, only one program is recorded: the first one that is not a wrapper (sh,
// env, timeout, …) writes its process number into MAIN, which has seven digits. A process that
// inherits the number of another one, or that was forked and has not called exec, writes no
// snapshots.

typedef unsigned long u64;
typedef unsigned int u32;
typedef unsigned short u16;

#if defined(__x86_64__)
enum { sys_write = 1, sys_getdents64 = 217, reloc_got = 6, reloc_plt = 7, o_directory = 0200000 };
enum { sys_sigprocmask = 14, sys_nanosleep = 35, sys_sigtimedwait = 128, sys_gettid = 186, sys_pipe2 = 293, sys_timer_create = 222, sys_timer_settime = 223, sys_tgkill = 234 };
#elif defined(__aarch64__)
enum { sys_write = 64, sys_getdents64 = 61, reloc_got = 1025, reloc_plt = 1026, o_directory = 040000 };
enum { sys_pipe2 = 59, sys_nanosleep = 101, sys_timer_create = 107, sys_timer_settime = 110, sys_tgkill = 131, sys_sigprocmask = 135, sys_sigtimedwait = 137, sys_gettid = 178 };
#else
#error "constants of this processor are missing"
#endif
enum { o_wronly = 1, o_creat = 0100, o_excl = 0200, o_trunc = 01000, o_cloexec = 02000000 };
enum { eintr = 4, eagain = 11, eexist = 17, einval = 22 };
enum { prot_read = 1, prot_write = 2, clock_monotonic_coarse = 6 };

struct timespec { long sec, nsec; };
struct dyn { long tag; u64 val; };
struct sym { u32 name; unsigned char info, other; u16 section; u64 value, size; };
struct rela { u64 offset, info; long addend; };
struct phdr { u32 type, flags; u64 offset, vaddr, paddr, filesz, memsz, align; };
struct object { u64 base; const char *name; const struct phdr *phdr; u16 phnum; };
enum { pt_load = 1, pt_dynamic = 2, pt_relro = 0x6474e552 };
enum { dt_pltrelsz = 2, dt_strtab = 5, dt_symtab = 6, dt_rela = 7, dt_relasz = 8, dt_jmprel = 23, dt_gnu_hash = 0x6ffffef5 };

// These types are the same in glibc and musl, and on both processors.
typedef void (*handler)(int);
struct siginfo { int signo, error, code, pad, pid; };
struct action { handler handler; u64 mask[16]; int flags; void (*restorer)(void); };
struct stack { void *at; int flags; u64 size; };
struct sigevent { u64 value; int signo, notify, pad[12]; };
enum { sigint = 2, sigterm = 15, sigxfsz = 25, sa_siginfo = 4, sa_restart = 0x10000000, ss_onstack = 1 };
#define sig_dfl ((handler)0)
#define sig_ign ((handler)1)
#define sa_resethand ((int)0x80000000)
enum { si_user = 0, si_timer = -2, si_tkill = -6 };

extern char **environ;
int open(const char *, int, ...);
int close(int);
long read(int, void *, u64);
long write(int, const void *, u64);
int getpid(void);
long readlink(const char *, char *, u64);
long syscall(long, ...);
int mprotect(void *, u64, int);
int clock_gettime(int, struct timespec *);
int *__errno_location(void);
int sigaltstack(const struct stack *, struct stack *);
int dl_iterate_phdr(int (*)(struct object *, u64, void *), void *);

static int every, part, children; // settings
static int mute;                  // another program than this one is recorded
static const char *prefix;        // 0 if nothing is recorded
static u64 prefix_len;
static int first_pid;             // the process that loaded this image; not a forked child
static long started, last;        // start, last timed snapshot: ms of the monotonic clock
static int numbered_pid, next;    // next is the next sequence number of process numbered_pid
static long ticks;                // the value of the replaced time()
static int discarding;            // the snapshot that is being written is discarded
static int writing = -1;          // file descriptor of the snapshot that is being written
static int whole;                 // number of complete snapshots
static long whole_at;             // time of the last complete snapshot
static int wanted_now;            // the allocator should take a snapshot as soon as possible

// --- text ---

static u64 length(const char *s) {
	u64 n = 0;
	while (s[n]) n++;
	return n;
}

static int begins(const char *s, const char *with, u64 n) {
	for (u64 i = 0; i < n; i++)
		if (s[i] != with[i]) return 0;
	return 1;
}

static int contains(const char *s, const char *what) {
	u64 n = length(what);
	for (; *s; s++)
		if (begins(s, what, n)) return 1;
	return 0;
}

// number parses digits and advances *s. It returns -1 if there are no digits or more than nine.
static int number(const char **s) {
	int n = 0, digits = 0;
	for (; **s >= '0' && **s <= '9'; ++*s, ++digits) {
		if (digits == 9) return -1;
		n = n * 10 + (**s - '0');
	}
	return digits ? n : -1;
}

static char *put(char *to, char *end, const char *s, u64 n) {
	for (u64 i = 0; i < n && to < end; i++) *to++ = s[i];
	return to;
}

static char *put_number(char *to, char *end, int n, int width) {
	char digits[12];
	int i = sizeof digits;
	for (; n > 0 || width > 0; n /= 10, width--) digits[--i] = (char)('0' + n % 10);
	return put(to, end, digits + i, sizeof digits - (u64)i);
}

// --- names of snapshots ---

// struct name holds the fields of the name of a snapshot: prefix.0001.heap or prefix_4711.0001.heap
// (gperftools), or prefix.4711.0.i0.heap (jemalloc).
struct name { int pid, seq; const char *rest; int jemalloc; };

// parse parses a name after its prefix. It returns 0 if the name is not that of a snapshot.
static int parse(const char *s, struct name *n) {
	n->pid = 0;
	n->jemalloc = 0;
	if (*s == '_') {
		s++;
		if ((n->pid = number(&s)) < 0) return 0;
	}
	if (*s++ != '.' || (n->seq = number(&s)) < 0) return 0;
	const char *after = s;
	if (*s == '.') {
		s++;
		int second = number(&s);
		if (second >= 0 && *s == '.') {
			n->jemalloc = 1;
			n->pid = n->seq;
			n->seq = second;
			after = s;
		}
	}
	n->rest = after;
	return *after == '.';
}

// highest returns the highest sequence number of a process in the directory of the prefix, or -1.
static int highest(int pid) {
	static char entries[16384] __attribute__((aligned(8)));
	char dir[4096];
	u64 slash = prefix_len;
	while (slash > 0 && prefix[slash - 1] != '/') slash--;
	if (slash >= sizeof dir) return -1;
	*put(dir, dir + sizeof dir - 1, prefix, slash) = 0;
	const char *stem = prefix + slash;
	u64 stem_len = prefix_len - slash;
	int fd = open(dir, o_directory | o_cloexec), found = -1;
	if (fd < 0) return -1;
	for (long n; (n = syscall(sys_getdents64, fd, entries, sizeof entries)) > 0;) {
		for (long at = 0; at < n; at += *(u16 *)(entries + at + 16)) {
			const char *s = entries + at + 19;
			struct name name;
			if (begins(s, stem, stem_len) && parse(s + stem_len, &name) && name.pid == pid && name.seq > found) found = name.seq;
		}
	}
	close(fd);
	return found;
}

// compose writes the path of a snapshot into out. It returns 0 if the path does not fit.
static int compose(char *out, u64 size, struct name *n, int pid, int seq) {
	char *end = out + size - 1;
	char *to = put(out, end, prefix, prefix_len);
	to = put(to, end, n->jemalloc ? "." : "_", 1);
	to = put_number(to, end, pid, 1);
	to = put(to, end, ".", 1);
	to = put_number(to, end, seq, n->jemalloc ? 1 : 4);
	to = put(to, end, n->rest, length(n->rest));
	*to = 0;
	return to < end;
}

static long now(void) {
	struct timespec t;
	clock_gettime(clock_monotonic_coarse, &t);
	return t.sec * 1000 + t.nsec / 1000000;
}

// due reports whether a timed snapshot is due. If it is, the next interval starts.
static int due(void) {
	long t = now();
	if (started == 0) started = t ? t : 1;
	long wait = every;
	if (part > 0 && (t - started) / part > wait) wait = (t - started) / part;
	if (last != 0 && t - last < wait) return 0;
	last = t;
	return 1;
}

// unwanted reports whether this process is not recorded.
static int unwanted(void) { return !children && (mute || (first_pid != 0 && getpid() != first_pid)); }

// discard opens /dev/null for a snapshot that is discarded.
static int discard(void) {
	discarding = 1;
	return open("/dev/null", o_wronly | o_cloexec);
}

// A snapshot may exceed the limit of the size of files (ulimit -f). The kernel then truncates it
// and sends SIGXFSZ to the thread that writes, which must not end the program. shield blocks the
// signal in this thread. unshield removes a pending signal and unblocks it.
static u64 shielded; // the signal that unshield must unblock, or 0 if the program had blocked it

static void shield(void) {
	u64 one = 1UL << (sigxfsz - 1), before = 0;
	syscall(sys_sigprocmask, 0, &one, &before, sizeof one);
	shielded = ~before & one;
}

static void unshield(void) {
	struct timespec none = {0, 0};
	if (!shielded) return;
	while (syscall(sys_sigtimedwait, &shielded, 0, &none, sizeof shielded) == sigxfsz) {}
	syscall(sys_sigprocmask, 1, &shielded, 0, sizeof shielded);
	shielded = 0;
}

// timed is the kind of snapshot, in the name, that the timer of jemalloc requests.
enum { timed = 't' };

// create opens a snapshot under its new name.
static int create(const char *path, int flags, u32 mode, struct name *n) {
	char out[4200];
	int fd = -1;
	if (unwanted()) return discard();
	if (n->jemalloc && n->rest[1] == timed) n->rest = ".i0.heap";
	// Other snapshots at an interval in bytes are discarded unless they are due.
	else if (n->jemalloc && every > 0 && n->rest[1] == 'i' && !due()) return discard();
	int pid = getpid();
	if (numbered_pid != pid) { // a new process image or a forked child
		next = highest(pid) + 1;
		if (next == 0 && !n->jemalloc) next = 1;
		numbered_pid = pid;
	}
	// Another user who can write to the directory may have made a link of this name.
	for (int i = 0; i < 100 && fd < 0 && (i == 0 || *__errno_location() == eexist); i++, next++) {
		if (!compose(out, sizeof out, n, pid, next)) return open(path, flags, mode);
		fd = open(out, flags | o_excl | o_cloexec, mode);
	}
	discarding = 0;
	writing = fd;
	if (fd < 0) return fd;
	shield();
	return fd;
}

// --- the pipe of libunwind ---
//
// libunwind checks whether it can read an address with a pipe: it writes a byte from this address,
// and reads it back. The pipe stays open. A program that closes the descriptors that it inherited,
// and then opens files, gets the same numbers, and libunwind would write into its files, read from
// them or close them. The agent therefore gives libunwind a pipe that is no file, and checks the
// address with a system call that needs none.
//
// libunwind opens the pipe when it is called for the first time, which may be before the agent's
// constructor runs: libstdc++ allocates memory in its own. The agent therefore also defines pipe2,
// and changes the imports of libunwind in its first call.
//
// Sources: libunwind src/x86_64/Ginit.c (write_validate), since 1.8 src/mi/Gaddress_validator.c.

// The descriptor of both ends of the pipe. It is negative, so that no call can mistake it for a
// file.
enum { no_file = -64 };

static int agent_pipe2(int *ends, int flags) {
	(void)flags;
	ends[0] = ends[1] = no_file;
	return 0;
}

// probe does what writing a byte into the pipe does: it returns 1 if the byte can be read, and
// otherwise -1 with EFAULT. The kernel reads the eight bytes of a signal mask before it finds that
// the first argument is not valid.
static long probe(const void *at) {
	int *e = __errno_location(), before = *e;
	syscall(sys_sigprocmask, -1L, (u64)at & ~7UL, 0L, 8L);
	if (*e != einval) return -1;
	*e = before;
	return 1;
}

// agent_read reads one byte from the pipe. libunwind calls it again as long as errno is EINTR, also
// after a success.
static long agent_read(int fd, void *to, u64 n) {
	int *e = __errno_location();
	if (fd != no_file) return read(fd, to, n);
	if (*e == eintr) *e = eagain;
	if (n > 0) *(char *)to = 0;
	return n > 0;
}

// --- what the allocator calls instead ---

static int agent_open(const char *path, int flags, u32 mode) {
	struct name n;
	// Copying the mappings to the end of a snapshot takes most of its time, so a discarded snapshot
	// gets none.
	if (discarding && begins(path, "/proc/", 6)) return open("/dev/null", flags);
	if (!prefix || !begins(path, prefix, prefix_len) || !parse(path + prefix_len, &n)) return open(path, flags, mode);
	int *e = __errno_location(), before = *e, fd = create(path, flags, mode, &n);
	if (fd >= 0) *e = before;
	return fd;
}

static int agent_creat(const char *path, u32 mode) { return agent_open(path, o_creat | o_wronly | o_trunc, mode); }

static int agent_close(int fd) {
	if (fd == no_file) return 0;
	if (fd < 0 || fd != writing) return close(fd);
	int result = close(fd), *e = __errno_location(), before = *e;
	writing = -1;
	unshield();
	*e = before;
	whole_at = now();
	whole++;
	return result;
}

// agent_time returns a constant until a snapshot is due. Then it advances by more than any
// interval.
static long agent_time(long *to) {
	if (((every > 0 && due()) || wanted_now) && !unwanted()) ticks += 1L << 30;
	wanted_now = 0;
	if (to) *to = ticks;
	return ticks;
}

// --- the timer of jemalloc ---
//
// jemalloc has no timer. It can take a snapshot at each interval in bytes, but counts only the memory
// that its threads' caches take from the heap: a program that reuses cached blocks takes none. It
// walks the stack for each sample, however, also of a cached block. It does so without locks, so that
// the agent can check the timer then and request a snapshot. The functions that walk the stack are
// left by a jump, because they would see the frame of a call.

static int (*mallctl)(const char *, void *, u64 *, void *, u64); // 0: the allocator is not jemalloc

static void check_timer(void) {
	static char path[4200];
	static int busy; // the process in which a thread checks the timer
	const char *at = path;
	int me = getpid();
	if (!mallctl || !prefix || every == 0 || unwanted() || __atomic_exchange_n(&busy, me, __ATOMIC_ACQUIRE) == me) return;
	struct name n = {0, 0, ".t0.heap", 1};
	int *e = __errno_location(), before = *e;
	if (due() && compose(path, sizeof path, &n, me, 0)) mallctl("prof.dump", 0, 0, &at, sizeof at);
	*e = before;
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

static int (*next_backtrace)(void *, void *);
static int (*next_unw_backtrace)(void **, int);

static int agent_backtrace(void *callback, void *argument) {
	check_timer();
	__attribute__((musttail)) return next_backtrace(callback, argument);
}

static int agent_unw_backtrace(void **to, int n) {
	check_timer();
	__attribute__((musttail)) return next_unw_backtrace(to, n);
}

// --- messages ---

static const char *const chatter[] = {
	"Using signal ", "Dumping heap profile to ", "Failed dumping heap profile to ", "Starting tracking the heap",
	"<jemalloc>: failed to ", "<jemalloc>: creat(", "<jemalloc>: write() failed",
};

static int is_chatter(long fd, const char *data, u64 n) {
	for (u64 i = 0; fd == 2 && i < sizeof chatter / sizeof *chatter; i++) {
		u64 len = length(chatter[i]);
		if (n >= len && begins(data, chatter[i], len)) return 1;
	}
	return 0;
}

static long agent_write(int fd, const void *data, u64 n) {
	if (fd == no_file) return probe(data);
	return is_chatter(fd, data, n) ? (long)n : write(fd, data, n);
}

// Both allocators write their messages with syscall().
static long agent_syscall(long nr, long a, long b, long c, long d, long e, long f) {
	if (nr == sys_write && (int)a == no_file) return probe((const void *)b);
	if (nr == sys_write && is_chatter(a, (const char *)b, (u64)c)) return c;
	return syscall(nr, a, b, c, d, e, f);
}

// --- tables of objects ---

// address returns the address of a table. glibc has added the base of the object to the value, musl
// has not.
static u64 address(struct object *o, u64 v) { return v < o->base ? v + o->base : v; }

static const struct dyn *dynamic(struct object *o) {
	for (u16 i = 0; i < o->phnum; i++)
		if (o->phdr[i].type == pt_dynamic) return (const struct dyn *)(o->base + o->phdr[i].vaddr);
	return 0;
}

struct tables { const char *strings; const struct sym *symbols; const u32 *hash; };

static struct tables tables_of(struct object *o, const struct dyn *d) {
	struct tables t = {0, 0, 0};
	for (; d->tag; d++) {
		switch (d->tag) {
		case dt_strtab: t.strings = (const char *)address(o, d->val); break;
		case dt_symtab: t.symbols = (const struct sym *)address(o, d->val); break;
		case dt_gnu_hash: t.hash = (const u32 *)address(o, d->val); break;
		}
	}
	return t;
}

// defined returns a function that an object exports, or 0. It searches the GNU hash table, which
// has a header (number of buckets, index of the first symbol, number of words and shift of the
// filter), the filter, the buckets and the chains. The last hash of a chain has its lowest bit set.
static void *defined(struct object *o, struct tables *t, const char *name) {
	if (!t->hash || !t->strings || !t->symbols || t->hash[0] == 0) return 0;
	u32 want = 5381;
	for (const char *s = name; *s; s++) want = want * 33 + (unsigned char)*s;
	const u32 *buckets = t->hash + 4 + 2 * t->hash[2], *chains = buckets + t->hash[0];
	u32 first = t->hash[1], i = buckets[want % t->hash[0]];
	for (; i >= first; i++) {
		const struct sym *s = t->symbols + i;
		u32 hash = chains[i - first];
		if ((hash | 1) == (want | 1) && s->section != 0 && begins(t->strings + s->name, name, length(name) + 1)) return (void *)(o->base + s->value);
		if (hash & 1) break;
	}
	return 0;
}

struct search { const char *name; int passed; void *found; };

static int holds(struct object *o, u64 at) {
	for (u16 i = 0; i < o->phnum; i++)
		if (o->phdr[i].type == pt_load && at - o->base - o->phdr[i].vaddr < o->phdr[i].memsz) return 1;
	return 0;
}

static int look(struct object *o, u64 size, void *to) {
	struct search *s = to;
	const struct dyn *d = dynamic(o);
	(void)size;
	if (!s->passed) {
		s->passed = holds(o, (u64)look);
		return 0;
	}
	if (!d) return 0;
	struct tables t = tables_of(o, d);
	s->found = defined(o, &t, s->name);
	return s->found != 0;
}

// following returns the function that the program would call if the agent did not define it, as
// dlsym(RTLD_NEXT) does.
static void *following(const char *name) {
	struct search s = {name, 0, 0};
	dl_iterate_phdr(look, &s);
	return s.found;
}

// --- the last snapshot ---
//
// SIGINT (^C) and SIGTERM kill a program that has no handler for them, and a program with a handler
// may exit without a snapshot. The agent therefore handles these signals. It takes a snapshot with
// the allocator's own function and then does what the program has set: it calls the program's
// handler or lets the kernel kill the process. It does this only in the recorded program. Wrappers
// keep their dispositions, because their children inherit them. A forked child, which may share its
// memory with its parent (vfork), sees the same dispositions, and its calls do not change the
// agent's state.

static int (*next_sigaction)(int, const struct action *, struct action *);
static handler take;             // takes a snapshot unless the allocator is busy; 0: feature off
static int take_signal, guarded; // argument of take; process whose signals are handled
static struct action theirs[2];  // the dispositions that the program has set
static int tries, before_tries;  // attempts; complete snapshots before the first attempt

static int which(int sig) { return sig == sigint ? 0 : sig == sigterm ? 1 : -1; }

static void nap(long ms) {
	struct timespec t = {0, ms * 1000000};
	syscall(sys_nanosleep, &t, 0);
}

// again sends the signal to this process once more after a delay.
static void again(int sig, long ms) {
	struct sigevent e = {0, sig, 0, {0}};
	struct timespec t[2] = {{0, 0}, {0, ms * 1000000}};
	int id = 0;
	if (syscall(sys_timer_create, 1, &e, &id) == 0) syscall(sys_timer_settime, id, 0, t, 0);
}

// pointless reports whether a snapshot should not be taken: this process is not recorded, the last
// snapshot is recent, the process sent the signal to itself (it has often freed its memory before),
// or the handler runs on an alternate stack, which is too small.
static int pointless(struct siginfo *info, long recent) {
	struct stack s = {0, 0, 0};
	if (unwanted() || now() - whole_at < recent) return 1;
	if ((info->code == si_user || info->code == si_tkill) && info->pid == getpid()) return 1;
	return sigaltstack(0, &s) == 0 && (s.flags & ss_onstack);
}

// snapshot takes a snapshot. It returns 0 if the allocator stays busy. If another thread uses the
// allocator, it is free soon. If the signal interrupted this thread in the allocator, the handler
// must return first.
static int snapshot(int was) {
	for (int i = 0; i < 5; i++) {
		if (whole != was) return 1;
		take(take_signal);
		if (whole != was) return 1;
		nap(10);
	}
	return 0;
}

// last_words takes the last snapshot before the program is killed. It returns 0 if the program must
// continue for a moment first; the signal is then sent again. After a second signal from outside,
// it takes no more snapshots.
static int last_words(int sig, struct siginfo *info) {
	int first = tries == 0;
	if (first ? pointless(info, 100) : info->code != si_timer) return 1;
	if (first) before_tries = whole;
	if (snapshot(before_tries) || ++tries > 20) return 1;
	wanted_now = 1;
	again(sig, 100);
	return 0;
}

static void die(int sig) {
	struct action a = {sig_dfl, {0}, 0, 0};
	next_sigaction(sig, &a, 0);
	syscall(sys_tgkill, getpid(), syscall(sys_gettid), sig); // delivered when the handler returns
}

static void on_end(int sig, struct siginfo *info, void *context) {
	int *e = __errno_location(), before = *e, i = which(sig);
	handler program = theirs[i].handler;
	if (program == sig_dfl) {
		if (last_words(sig, info)) die(sig);
	} else if (!pointless(info, 1000)) {
		snapshot(whole);
	}
	*e = before;
	if (program == sig_dfl || program == sig_ign) return;
	if (theirs[i].flags & sa_resethand) theirs[i].handler = sig_dfl;
	((void (*)(int, struct siginfo *, void *))program)(sig, info, context);
}

#define ours ((handler)(void *)on_end)

// guard stores the disposition that the program has set and installs the agent's handler.
static void guard(int i) {
	int sig = i == 0 ? sigint : sigterm;
	struct action a;
	if (next_sigaction(sig, 0, &a) != 0 || a.handler == ours) return;
	theirs[i] = a;
	if (a.handler == sig_ign) return;
	if (a.handler == sig_dfl) a.flags = sa_restart;
	a.flags = (a.flags & ~sa_resethand) | sa_siginfo;
	a.handler = ours;
	next_sigaction(sig, &a, 0);
}

#define visible __attribute__((visibility("default")))

visible int sigaction(int sig, const struct action *act, struct action *old) {
	if (!next_sigaction) next_sigaction = following("sigaction");
	int i = which(sig), changes = act != 0, result = next_sigaction(sig, act, old);
	if (i < 0 || !take || result != 0) return result;
	if (old && old->handler == ours) *old = theirs[i];
	if (changes && getpid() == guarded) guard(i);
	return result;
}

// set calls the C library's function with the given name, and returns the program's own former
// handler.
static handler set(handler (**f)(int, handler), const char *name, int sig, handler h) {
	if (!*f) *f = following(name);
	int i = which(sig);
	handler old = (*f)(sig, h);
	if (i < 0 || !take) return old;
	if (old == ours) old = theirs[i].handler;
	if (getpid() == guarded) guard(i);
	return old;
}

#define setter(name) \
	static handler (*next_##name)(int, handler); \
	visible handler name(int sig, handler h) { return set(&next_##name, #name, sig, h); }
setter(signal)
setter(bsd_signal)
setter(ssignal)
setter(sysv_signal)
setter(__sysv_signal)
setter(sigset)

static int wrapper; // this program is a wrapper

// agent_signal is called once, by an allocator that installs a handler which takes a snapshot.
static handler agent_signal(int sig, handler h) {
	handler old = signal(sig, h);
	if (old != sig_dfl || which(sig) >= 0 || mute || wrapper || !next_sigaction) return old;
	take_signal = sig;
	guarded = getpid();
	take = h;
	guard(0);
	guard(1);
	return old;
}

// --- the allocator's table of imports ---

static void *replacement(const char *symbol) {
	static const struct { const char *symbol; void *function; } all[] = {
		{"open", agent_open}, {"open64", agent_open}, {"creat", agent_creat}, {"creat64", agent_creat},
		{"time", agent_time}, {"write", agent_write}, {"syscall", agent_syscall}, {"close", agent_close}, {"signal", agent_signal},
		{"pipe2", agent_pipe2}, {"read", agent_read},
	};
	for (u64 i = 0; i < sizeof all / sizeof *all; i++)
		if (begins(symbol, all[i].symbol, length(all[i].symbol) + 1)) return all[i].function;
	if (next_backtrace && begins(symbol, "_Unwind_Backtrace", 18)) return agent_backtrace;
	if (next_unw_backtrace && begins(symbol, "unw_backtrace", 14)) return agent_unw_backtrace;
	return 0;
}

// store writes a slot. With RELRO, the loader has made the page read-only, and store makes it
// writable. The page stays writable, because with other page sizes it may contain data that must be
// writable.
static void store(struct object *o, void **slot, void *value) {
	for (u16 i = 0; i < o->phnum; i++) {
		u64 from = o->base + o->phdr[i].vaddr, to = from + o->phdr[i].memsz;
		if (o->phdr[i].type != pt_relro || (u64)slot < from || (u64)slot >= to) continue;
		for (u64 page = 4096; page <= 65536; page *= 4)
			if (mprotect((void *)((u64)slot & ~(page - 1)), page, prot_read | prot_write) == 0) break;
	}
	*slot = value;
}

static void patch(struct object *o, struct tables *t, const struct rela *r, u64 bytes) {
	for (u64 i = 0; i < bytes / sizeof *r; i++) {
		u32 type = (u32)r[i].info;
		if (type != reloc_got && type != reloc_plt) continue;
		void *f = replacement(t->strings + t->symbols[r[i].info >> 32].name);
		if (f) store(o, (void **)(o->base + r[i].offset), f);
	}
}

static void patch_object(struct object *o, const struct dyn *d) {
	struct tables t = tables_of(o, d);
	u64 plt = 0, plt_bytes = 0, rela = 0, rela_bytes = 0;
	for (; d->tag; d++) {
		switch (d->tag) {
		case dt_jmprel: plt = address(o, d->val); break;
		case dt_rela: rela = address(o, d->val); break;
		case dt_pltrelsz: plt_bytes = d->val; break;
		case dt_relasz: rela_bytes = d->val; break;
		}
	}
	if (!t.strings || !t.symbols) return;
	if (!mallctl) mallctl = defined(o, &t, "mallctl");
	patch(o, &t, (const struct rela *)plt, plt ? plt_bytes : 0);
	patch(o, &t, (const struct rela *)rela, rela ? rela_bytes : 0);
}

// profiles reports whether an object is an allocator or its unwinder.
static int profiles(struct object *o) {
	const char *base = o->name;
	for (const char *s = o->name; *s; s++)
		if (*s == '/') base = s + 1;
	return contains(base, "tcmalloc") || contains(base, "jemalloc") || contains(base, "libunwind");
}

static int visit(struct object *o, u64 size, void *unused) {
	(void)size, (void)unused;
	const struct dyn *d = profiles(o) ? dynamic(o) : 0;
	if (d) patch_object(o, d);
	return 0;
}

static int started_up; // the constructor has run

static int patch_caller(struct object *o, u64 size, void *caller) {
	if (!profiles(o) || !holds(o, (u64)caller)) return 0;
	visit(o, size, 0);
	return 1;
}

visible int pipe2(int *ends, int flags) {
	if (!started_up && dl_iterate_phdr(patch_caller, __builtin_return_address(0))) return agent_pipe2(ends, flags);
	return (int)syscall(sys_pipe2, ends, (long)flags);
}

// --- start ---

static const char *setting(void) {
	static const char name[] = "HEAPLAPSE_RECORD=";
	for (char **e = environ; e && *e; e++)
		if (begins(*e, name, sizeof name - 1)) return *e + sizeof name - 1;
	return 0;
}

// The list of wrappers is the same as in program/target.go.
static const char *const wrappers[] = {
	"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox", "env", "timeout", "nice", "ionice", "nohup", "stdbuf", "setsid", "taskset", "chrt",
	"numactl", "time", "setpriv", "prlimit", "tini", "dumb-init", "catatonit", "su-exec", "gosu", "chroot", "unshare", "setarch", "xvfb-run", "pyenv", "catchsegv",
};

static int is_wrapper(void) {
	char exe[4096];
	long n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	if (n <= 0) return 0;
	exe[n] = 0;
	const char *base = exe;
	for (const char *s = exe; *s; s++)
		if (*s == '/') base = s + 1;
	for (u64 i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
		if (begins(base, wrappers[i], length(wrappers[i]) + 1)) return 1;
	return 0;
}

// claim writes the number of this process into the variable, which child processes inherit, unless
// another process has done so or this program is a wrapper.
static void claim(char *digits, int owner) {
	if (owner != 0) mute = owner != first_pid;
	else if (!wrapper) put_number(digits, digits + 7, first_pid, 7);
}

static void start(void) {
	static char kept[4096];
	const char *s = setting();
	int owner;
	if (!s) return;
	if ((every = number(&s)) < 0 || *s++ != ' ' || (part = number(&s)) < 0 || *s++ != ' ' || (children = number(&s)) < 0 || *s++ != ' ') return;
	char *digits = (char *)s; // the environment is writable
	if ((owner = number(&s)) < 0 || s != digits + 7 || *s++ != ' ') return;
	prefix_len = length(s);
	if (prefix_len >= sizeof kept) return;
	*put(kept, kept + sizeof kept - 1, s, prefix_len) = 0; // the program may change its environment
	first_pid = getpid();
	wrapper = is_wrapper();
	next_sigaction = following("sigaction");
	next_backtrace = following("_Unwind_Backtrace");
	next_unw_backtrace = following("unw_backtrace");
	if (!children) claim(digits, owner);
	prefix = kept;
	dl_iterate_phdr(visit, 0);
}

__attribute__((constructor)) static void construct(void) {
	start();
	started_up = 1;
}
