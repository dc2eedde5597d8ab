#include "base/entry.h"

#include "base/config.h"

uint32_t hl_life;

static uint32_t unwiped = 1;
uint32_t *hl_fork_mark = &unwiped;
void (*hl_fork_unseen)(void);

bool hl_fork_is_new(void) { return hl_fork_mark == &unwiped || *hl_fork_mark == 0; }

void hl_fork_notice(void) {
    *hl_fork_mark = 1;
    hl_process.parent = hl_process.pid;
    hl_process.pid = (uint64_t)hl_syscall0(HL_SYS_getpid);
    hl_process.is_fork = hl_process.is_worker = true;
}

int64_t hl_worker_waits(void) {
    const int64_t young = 1000000000;
    if (hl_config.children != HL_WORKERS || !hl_process.is_worker) return 0;
    int64_t left = hl_process.started + young - hl_clock(HL_MONOTONIC);
    return left > 0 ? left : 0;
}

void hl_fork_mark_init(void (*unseen)(void)) {
    enum { PAGE = 4096, MADV_WIPEONFORK = 18 };
    uint32_t *mark = hl_pages_alloc(PAGE);
    hl_fork_unseen = unseen;
    if (mark && hl_syscall3(HL_SYS_madvise, mark, PAGE, MADV_WIPEONFORK) == 0) {
        *mark = 1;
        hl_fork_mark = mark;
    }
}
