// Threads that allocate, free, reallocate, map and unmap in the tables of the engine, while another one
// writes snapshots: for ThreadSanitizer, which reports what they do to each other. The engine's own
// thread, which the sanitizer would not know, is replaced by one of the C library.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/config.h"
#include "base/names.h"
#include "base/problems.h"
#include "heap/operators.h"
#include "heap/record.h"
#include "heap/regions.h"
#include "heap/sites.h"
#include "output/snapshot.h"
#include "output/trigger.h"
#include "output/writer.h"
#include "nochannel.h"

// What the tables and the snapshots need of the rest.
void hl_operators_poll(void) {}
void hl_writer_request(enum hl_trigger trigger) { (void)trigger; }
void hl_writer_now(enum hl_trigger trigger) { (void)trigger; }
void hl_writer_finish(void) {}
void hl_writer_leave(void) {}
void hl_writer_keep(void) {}
bool hl_writer_is_missing(void) { return false; }

enum { THREADS = 4, ROUNDS = 20000, RING = 64 };
static char blocks[THREADS][RING][16];
static int stop;

static void *work(void *arg) {
	size_t self = (size_t)arg;
	for (size_t i = 0; i < ROUNDS; i++) {
		char *p = blocks[self][i % RING];
		hl_forget(p);
		allocate(p, 100 + i % 1000);
		// A block that another thread has allocated, which it frees too: only one of them finds it.
		if (i % 7 == 0) hl_forget(blocks[(self + 1) % THREADS][i % RING]);
		if (i % 50 == 0) hl_problem("test", "of threads");
		if (i % 100 == 0) hl_name("name", 4, "file", 4, (uint32_t)i, NULL);
		if (i % 20 != 0) continue;
		uint64_t signals = hl_enter_slow_path();
		hl_lock(&hl_regions_lock);
		hl_regions_add((self + 1) << 32 | i << 16, 1 << 16, HL_SITE_OTHER);
		if (i % 40 == 0) hl_regions_remove((self + 1) << 32, UINT64_C(1) << 31);
		hl_unlock(&hl_regions_lock);
		hl_signals_restore(signals);
	}
	return NULL;
}

static void *write_snapshots(void *arg) {
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) hl_snapshot_write(HL_TIME);
	return arg;
}

int main(void) {
	pthread_t t[THREADS], writer;
	hl_period = 256;
	hl_process.pid = (uint64_t)hl_syscall0(HL_SYS_getpid);
	hl_process.page_size = 4096;
	if (!hl_regions_init() || !hl_sites_init()) return 1;
	hl_unwind_init();
	hl_trigger_init();
	hl_live_as(HL_RECORDING);
	pthread_create(&writer, NULL, write_snapshots, NULL);
	for (size_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)i);
	for (size_t i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	puts(sent > 0 ? "ok" : "no message");
	return 0;
}
