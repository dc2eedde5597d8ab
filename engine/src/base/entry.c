#include "base/entry.h"

#include "base/config.h"

uint32_t hl_life;

static uint32_t unwiped = HL_FORK_NOTICED;
uint32_t *hl_fork_mark = &unwiped;
static void (*start_child)(void);

static void set_mark(enum hl_fork_mark mark) {
    __atomic_store_n(hl_fork_mark, mark, __ATOMIC_RELEASE);
}

static void wait_until_noticed(void) {
    enum { TRIES = 2000, PAUSE = 1000000 };
    for (int i = 0; i < TRIES; i++) {
        if (__atomic_load_n(hl_fork_mark, __ATOMIC_ACQUIRE) == HL_FORK_NOTICED) return;
        hl_sleep(PAUSE);
    }
}

void hl_fork_notice(bool by_handler) {
    uint32_t mark = HL_FORK_NEW;
    if (by_handler && hl_fork_mark == &unwiped) set_mark(HL_FORK_NEW);
    if (!__atomic_compare_exchange_n(hl_fork_mark, &mark, HL_FORK_STARTS, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        if (mark == HL_FORK_STARTS) wait_until_noticed();
        return;
    }
    hl_process.parent = hl_process.pid;
    hl_process.pid = (uint64_t)hl_syscall0(HL_SYS_getpid);
    hl_process.is_fork = hl_process.is_worker = true;
    start_child();
    set_mark(HL_FORK_NOTICED);
}

int64_t hl_worker_waits(void) {
    const int64_t young = 1000000000;
    if (hl_config.children != HL_WORKERS || !hl_process.is_worker) return 0;
    int64_t left = hl_process.started + young - hl_clock(HL_MONOTONIC);
    return left > 0 ? left : 0;
}

void hl_fork_mark_init(void (*start)(void)) {
    enum { PAGE = 4096, MADV_WIPEONFORK = 18 };
    uint32_t *mark = hl_pages_alloc(PAGE);
    start_child = start;
    if (mark && hl_syscall3(HL_SYS_madvise, mark, PAGE, MADV_WIPEONFORK) == 0) {
        *mark = HL_FORK_NOTICED;
        hl_fork_mark = mark;
    }
}
