#include "output/channel.h"

#include "base/config.h"

enum { NAP = 1000000 };

static void nap(void) { hl_sleep(NAP); }

// --- the memory ---

enum { HEADER = 4096, RING = 256 << 10 }; // the ring follows the header

struct memory {
    char magic[16];
    uint32_t size;     // of the ring
    uint32_t closed;   // not 0: the recorder reads nothing any more
    uint64_t pid;      // of this process, as the recorder sees it
    uint64_t image;    // number of this process image
    uint64_t sequence; // number of the last snapshot of this process
    uint32_t head;     // bytes that the engine has written, modulo 2^32
    uint32_t tail;     // bytes that the recorder has read
    uint32_t looks;    // enum looks
    uint32_t unused;
    char answer[sizeof hl_config.answer]; // shows that it comes from the recorder
};

// enum looks is whether the recorder looks at this process before its exit handlers run.
enum looks { LOOKS_NEVER, LOOKS_IF_TOLD, LOOKS_NOW };

static struct memory *memory;
static uint64_t sequence; // of the last snapshot
static uint32_t next;     // head, which only the engine changes
static bool stuck;        // a wait was in vain
static uint32_t stuck_at; // tail then; the recorder has not answered if there is no memory
static int64_t until;     // of hl_channel_until
static bool closed;       // the recorder has ended

// deadline returns the monotonic time at which a wait ends that begins now.
static int64_t deadline(void) {
    int64_t end = hl_clock(HL_MONOTONIC) + (int64_t)hl_config.patience * 1000000;
    return until != 0 && until < end ? until : end;
}

static char *ring(void) { return (char *)memory + HEADER; }

static void unmap(void) {
    if (memory) hl_pages_free(memory, HEADER + RING);
    memory = NULL;
    next = 0;
    stuck = false;
    __atomic_store_n(&closed, false, __ATOMIC_RELAXED);
}

// is_safe reports whether a file is memory of the right size that nobody can make smaller. An
// access behind its end would kill the program.
static bool is_safe(int fd) {
    enum { F_GET_SEALS = 1034, SHRINK = 2, SEEK_END = 2 };
    long seals = hl_syscall2(HL_SYS_fcntl, fd, F_GET_SEALS);
    return seals >= 0 && (seals & SHRINK) &&
           hl_syscall3(HL_SYS_lseek, fd, 0, SEEK_END) == HEADER + RING;
}

static int map(int fd) {
    static const char magic[16] = "heaplapse-ring-1";
    enum { MAP_SHARED = 1 };
    if (!is_safe(fd)) return HL_EPROTO;
    long at =
        hl_syscall6(HL_SYS_mmap, 0, HEADER + RING, HL_PROT_READ | HL_PROT_WRITE, MAP_SHARED, fd, 0);
    if (at < 0 && at > -4096) return (int)-at;
    memory = (struct memory *)at;
    if (memcmp(memory->magic, magic, sizeof magic) != 0 || memory->size != RING ||
        memcmp(memory->answer, hl_config.answer, sizeof memory->answer) != 0) {
        unmap();
        return HL_EPROTO;
    }
    sequence = memory->sequence;
    return 0;
}

int hl_channel_adopt(int fd) {
    unmap();
    int error = map(fd);
    hl_syscall1(HL_SYS_close, fd);
    return error;
}

long hl_channel_create(void) {
    enum { CLOEXEC = 1, ALLOW_SEALING = 2, NOEXEC_SEAL = 8 }; // the last one since Linux 6.3
    static const char name[] = "heaplapse";
    long fd = hl_syscall2(HL_SYS_memfd_create, name, CLOEXEC | ALLOW_SEALING | NOEXEC_SEAL);
    if (fd == -HL_EINVAL) fd = hl_syscall2(HL_SYS_memfd_create, name, CLOEXEC | ALLOW_SEALING);
    return fd;
}

void hl_channel_forked(void) { unmap(); }

// --- the connection ---

struct address {
    uint16_t family;
    char path[108]; // if it begins with a zero byte, it is a name that is not in the file system
};

static size_t address_of(struct address *a, const char *prefix, size_t n, const char *name) {
    enum { AF_UNIX = 1 };
    size_t length = hl_strlen(name);
    *a = (struct address){.family = AF_UNIX};
    memcpy(a->path, prefix, n);
    memcpy(a->path + n, name, length);
    return offsetof(struct address, path) + n + length;
}

static long connect_once(int fd) {
    struct address a;
    size_t n = address_of(&a, "", 1, hl_config.socket);
    long result = hl_syscall3(HL_SYS_connect, fd, &a, n);
    if (result != -HL_ECONNREFUSED || !hl_config.path[0]) return result;
    n = address_of(&a, "", 0, hl_config.path); // this is another network namespace
    return hl_syscall3(HL_SYS_connect, fd, &a, n);
}

static long connect_to(int fd, int64_t end) {
    for (;;) {
        long result = connect_once(fd);
        if (result != -HL_EAGAIN) return result;
        if (hl_clock(HL_MONOTONIC) >= end) return -HL_ETIMEDOUT;
        nap(); // many processes connect at once
    }
}

struct vector {
    void *base;
    size_t length;
};

struct message { // struct msghdr
    void *name;
    uint64_t name_length;
    struct vector *vector;
    size_t vectors;
    void *control;
    size_t control_length;
    uint64_t flags;
};

// receive waits for the answer of the recorder, and returns the descriptor in it, or -errno.
static long receive(int fd, int64_t end) {
    enum { DONTWAIT = 0x40, CLOEXEC = 0x40000000, SOL_SOCKET = 1, SCM_RIGHTS = 1 };
    char byte;
    struct {
        size_t length;
        int32_t level, type, fd, padding;
    } control = {0};
    struct vector v = {&byte, 1};
    const size_t length = offsetof(__typeof__(control), padding); // no room for a second descriptor
    for (;;) {
        struct message m = {
            .vector = &v, .vectors = 1, .control = &control, .control_length = length};
        long n = hl_syscall3(HL_SYS_recvmsg, fd, &m, DONTWAIT | CLOEXEC);
        if (n == -HL_EAGAIN || n == -HL_EINTR) {
            if (hl_clock(HL_MONOTONIC) >= end) return -HL_ETIMEDOUT;
            nap();
            continue;
        }
        if (n < 0) return n;
        bool whole = n == 1 && m.control_length >= length && control.level == SOL_SOCKET &&
                     control.type == SCM_RIGHTS;
        return whole ? control.fd : -HL_EPROTO;
    }
}

// request connects, and returns the descriptor that the recorder has sent, or -errno. A thread of
// the program does not wait again for a recorder that has not answered.
static long request(int fd) {
    enum { NOSIGNAL = 0x4000 };
    int64_t end = stuck && until != 0 ? 0 : deadline();
    long result = connect_to(fd, end);
    if (result >= 0)
        result = hl_syscall6(HL_SYS_sendto, fd, (long)hl_config.token,
                             (long)hl_strlen(hl_config.token), NOSIGNAL, 0, 0);
    if (result >= 0) result = receive(fd, end);
    stuck = result == -HL_ETIMEDOUT;
    return result;
}

static int connect(void) {
    enum { AF_UNIX = 1, SEQPACKET = 5 };
    if (!hl_config.socket[0]) return HL_EPIPE;
    long fd = hl_syscall3(HL_SYS_socket, AF_UNIX, SEQPACKET | HL_O_NONBLOCK | HL_O_CLOEXEC, 0);
    if (fd < 0) return (int)-fd;
    long got = request((int)fd);
    hl_syscall1(HL_SYS_close, fd);
    return got < 0 ? (int)-got : hl_channel_adopt((int)got);
}

int hl_channel_open(void) { return memory ? 0 : connect(); }

uint64_t hl_channel_pid(void) { return memory->pid; }

uint64_t hl_channel_image(void) { return memory->image; }

uint64_t hl_channel_next(void) { return ++sequence; }

bool hl_channel_is_closed(void) { return __atomic_load_n(&closed, __ATOMIC_RELAXED); }

static bool see_closed(void) {
    if (__atomic_load_n(&memory->closed, __ATOMIC_RELAXED) == 0) return false;
    __atomic_store_n(&closed, true, __ATOMIC_RELAXED);
    return true;
}

// --- messages ---

void hl_channel_until(int64_t time) { until = time; }

// wait_for_room waits until n bytes of the ring are free.
static int wait_for_room(uint32_t n) {
    int64_t end = deadline();
    for (;;) {
        uint32_t tail = __atomic_load_n(&memory->tail, __ATOMIC_ACQUIRE), used = next - tail;
        if (see_closed()) return HL_EPIPE;
        if (used > RING) return HL_EPROTO;
        if (stuck && tail == stuck_at) return HL_ETIMEDOUT;
        stuck = false;
        if (RING - used >= n) return 0;
        if (hl_clock(HL_MONOTONIC) >= end) {
            stuck = true;
            stuck_at = tail;
            return HL_ETIMEDOUT;
        }
        nap();
    }
}

static void copy(const void *data, size_t n) {
    size_t at = next % RING, first = RING - at < n ? RING - at : n;
    memcpy(ring() + at, data, first);
    memcpy(ring(), (const char *)data + first, n - first);
    next += (uint32_t)n;
}

int hl_channel_put(enum hl_message kind, const void *data, size_t n) {
    enum { UNIT = 8 };
    const uint32_t head[2] = {(uint32_t)kind, (uint32_t)n};
    const char padding[UNIT] = {0};
    size_t rest = (UNIT - n % UNIT) % UNIT;
    if (!memory) return HL_EPIPE;
    int error = wait_for_room((uint32_t)(sizeof head + n + rest));
    if (error) return error;
    copy(head, sizeof head);
    copy(data, n);
    copy(padding, rest);
    __atomic_store_n(&memory->head, next, __ATOMIC_RELEASE);
    return 0;
}

bool hl_channel_leave(void) {
    struct memory *m = memory;
    uint32_t before = LOOKS_IF_TOLD;
    if (!m || !__atomic_compare_exchange_n(&m->looks, &before, LOOKS_NOW, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED))
        return true;
    int64_t end = hl_clock(HL_MONOTONIC) + (int64_t)hl_config.patience * 1000000;
    while (__atomic_load_n(&m->looks, __ATOMIC_ACQUIRE) == LOOKS_NOW) {
        if (__atomic_load_n(&m->closed, __ATOMIC_RELAXED) != 0) break;
        if (hl_clock(HL_MONOTONIC) >= end) return false;
        nap();
    }
    return true;
}
