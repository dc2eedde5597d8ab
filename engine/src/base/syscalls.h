// Numbers of system calls, and how each processor makes them. Included by platform.h.
#ifndef HL_BASE_SYSCALLS_H
#define HL_BASE_SYSCALLS_H

#if defined(__x86_64__)

enum {
    HL_SYS_read = 0,
    HL_SYS_close = 3,
    HL_SYS_lseek = 8,
    HL_SYS_mmap = 9,
    HL_SYS_mprotect = 10,
    HL_SYS_munmap = 11,
    HL_SYS_rt_sigprocmask = 14,
    HL_SYS_sched_yield = 24,
    HL_SYS_mincore = 27,
    HL_SYS_madvise = 28,
    HL_SYS_getpid = 39,
    HL_SYS_socket = 41,
    HL_SYS_getppid = 110,
    HL_SYS_getresuid = 118,
    HL_SYS_getresgid = 120,
    HL_SYS_clone = 56,
    HL_SYS_connect = 42,
    HL_SYS_sendto = 44,
    HL_SYS_recvmsg = 47,
    HL_SYS_exit = 60,
    HL_SYS_fcntl = 72,
    HL_SYS_gettid = 186,
    HL_SYS_futex = 202,
    HL_SYS_timer_create = 222,
    HL_SYS_timer_settime = 223,
    HL_SYS_clock_gettime = 228,
    HL_SYS_prctl = 157,
    HL_SYS_exit_group = 231,
    HL_SYS_tgkill = 234,
    HL_SYS_openat = 257,
    HL_SYS_readlinkat = 267,
    HL_SYS_newfstatat = 262,
    HL_SYS_faccessat = 269,
    HL_SYS_unshare = 272,
    HL_SYS_prlimit64 = 302,
    HL_SYS_setns = 308,
    HL_SYS_process_vm_readv = 310,
    HL_SYS_seccomp = 317,
    HL_SYS_memfd_create = 319,
    HL_SYS_close_range = 436,
    HL_O_NOFOLLOW = 0400000,
};

static inline long hl_syscall6(long nr, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline uintptr_t hl_thread_pointer(void) {
    uintptr_t tp;
    __asm__("mov %%fs:0, %0" : "=r"(tp));
    return tp;
}

static inline void hl_spin(void) { __asm__ volatile("pause"); }

#elif defined(__aarch64__)

enum {
    HL_SYS_fcntl = 25,
    HL_SYS_faccessat = 48,
    HL_SYS_openat = 56,
    HL_SYS_close = 57,
    HL_SYS_lseek = 62,
    HL_SYS_read = 63,
    HL_SYS_readlinkat = 78,
    HL_SYS_newfstatat = 79,
    HL_SYS_exit = 93,
    HL_SYS_exit_group = 94,
    HL_SYS_unshare = 97,
    HL_SYS_futex = 98,
    HL_SYS_timer_create = 107,
    HL_SYS_timer_settime = 110,
    HL_SYS_clock_gettime = 113,
    HL_SYS_sched_yield = 124,
    HL_SYS_tgkill = 131,
    HL_SYS_rt_sigprocmask = 135,
    HL_SYS_prctl = 167,
    HL_SYS_getpid = 172,
    HL_SYS_getresuid = 148,
    HL_SYS_getresgid = 150,
    HL_SYS_getppid = 173,
    HL_SYS_gettid = 178,
    HL_SYS_socket = 198,
    HL_SYS_connect = 203,
    HL_SYS_sendto = 206,
    HL_SYS_recvmsg = 212,
    HL_SYS_munmap = 215,
    HL_SYS_clone = 220,
    HL_SYS_mmap = 222,
    HL_SYS_mprotect = 226,
    HL_SYS_mincore = 232,
    HL_SYS_madvise = 233,
    HL_SYS_prlimit64 = 261,
    HL_SYS_setns = 268,
    HL_SYS_process_vm_readv = 270,
    HL_SYS_seccomp = 277,
    HL_SYS_memfd_create = 279,
    HL_SYS_close_range = 436,
    HL_O_NOFOLLOW = 0100000,
};

static inline long hl_syscall6(long nr, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

static inline uintptr_t hl_thread_pointer(void) {
    uintptr_t tp;
    __asm__("mrs %0, tpidr_el0" : "=r"(tp));
    return tp;
}

static inline void hl_spin(void) { __asm__ volatile("yield"); }

#else
#error "constants of this processor are missing"
#endif

// Constants that are the same on both processors.
enum {
    HL_ESRCH = 3,
    HL_EINTR = 4,
    HL_EAGAIN = 11,
    HL_ENOMEM = 12,
    HL_EFAULT = 14,
    HL_EINVAL = 22,
    HL_EPIPE = 32,
    HL_ENOSYS = 38,
    HL_EPROTO = 71,
    HL_ETIMEDOUT = 110,
    HL_ECONNREFUSED = 111,
    HL_AT_FDCWD = -100,
    HL_O_NONBLOCK = 04000,
    HL_O_CLOEXEC = 02000000,
    HL_PROT_READ = 1,
    HL_PROT_WRITE = 2,
    HL_MAP_PRIVATE = 2,
    HL_MAP_FIXED = 0x10,
    HL_MAP_ANONYMOUS = 0x20,
};

#endif
