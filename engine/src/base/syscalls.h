// Numbers of system calls, and how each processor makes them. Included by platform.h.
#ifndef HL_BASE_SYSCALLS_H
#define HL_BASE_SYSCALLS_H

#if defined(__x86_64__)

#define HL_NUMBER(x86_64, aarch64) (x86_64)

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

#define HL_NUMBER(x86_64, aarch64) (aarch64)

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

// Numbers of system calls.
enum {
    HL_SYS_clock_gettime = HL_NUMBER(228, 113),
    HL_SYS_clone = HL_NUMBER(56, 220),
    HL_SYS_close = HL_NUMBER(3, 57),
    HL_SYS_close_range = HL_NUMBER(436, 436),
    HL_SYS_connect = HL_NUMBER(42, 203),
    HL_SYS_exit = HL_NUMBER(60, 93),
    HL_SYS_exit_group = HL_NUMBER(231, 94),
    HL_SYS_faccessat = HL_NUMBER(269, 48),
    HL_SYS_fcntl = HL_NUMBER(72, 25),
    HL_SYS_futex = HL_NUMBER(202, 98),
    HL_SYS_getpid = HL_NUMBER(39, 172),
    HL_SYS_getppid = HL_NUMBER(110, 173),
    HL_SYS_getresgid = HL_NUMBER(120, 150),
    HL_SYS_getresuid = HL_NUMBER(118, 148),
    HL_SYS_gettid = HL_NUMBER(186, 178),
    HL_SYS_lseek = HL_NUMBER(8, 62),
    HL_SYS_madvise = HL_NUMBER(28, 233),
    HL_SYS_memfd_create = HL_NUMBER(319, 279),
    HL_SYS_mincore = HL_NUMBER(27, 232),
    HL_SYS_mmap = HL_NUMBER(9, 222),
    HL_SYS_mprotect = HL_NUMBER(10, 226),
    HL_SYS_munmap = HL_NUMBER(11, 215),
    HL_SYS_newfstatat = HL_NUMBER(262, 79),
    HL_SYS_openat = HL_NUMBER(257, 56),
    HL_SYS_prctl = HL_NUMBER(157, 167),
    HL_SYS_prlimit64 = HL_NUMBER(302, 261),
    HL_SYS_process_vm_readv = HL_NUMBER(310, 270),
    HL_SYS_read = HL_NUMBER(0, 63),
    HL_SYS_readlinkat = HL_NUMBER(267, 78),
    HL_SYS_recvmsg = HL_NUMBER(47, 212),
    HL_SYS_rt_sigaction = HL_NUMBER(13, 134),
    HL_SYS_rt_sigprocmask = HL_NUMBER(14, 135),
    HL_SYS_rt_tgsigqueueinfo = HL_NUMBER(297, 240),
    HL_SYS_sched_yield = HL_NUMBER(24, 124),
    HL_SYS_seccomp = HL_NUMBER(317, 277),
    HL_SYS_sendto = HL_NUMBER(44, 206),
    HL_SYS_setns = HL_NUMBER(308, 268),
    HL_SYS_socket = HL_NUMBER(41, 198),
    HL_SYS_tgkill = HL_NUMBER(234, 131),
    HL_SYS_timer_create = HL_NUMBER(222, 107),
    HL_SYS_timer_settime = HL_NUMBER(223, 110),
    HL_SYS_unshare = HL_NUMBER(272, 97),
};

// Constants.
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
    HL_O_NOFOLLOW = HL_NUMBER(0400000, 0100000),
    HL_O_CLOEXEC = 02000000,
    HL_PROT_READ = 1,
    HL_PROT_WRITE = 2,
    HL_MAP_PRIVATE = 2,
    HL_MAP_FIXED = 0x10,
    HL_MAP_ANONYMOUS = 0x20,
};

#endif
