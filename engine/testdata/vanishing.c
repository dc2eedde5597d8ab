// Looks a symbol up in tables that another thread takes away and brings back all the time, as
// dlclose and dlopen do.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/elf.h"

// The tables of an object with one symbol, in one page.
static struct page {
    uint32_t buckets, first, words, shift;
    uint64_t filter;
    uint32_t bucket, chain;
    struct hl_elf_symbol symbols[2];
    char names[8];
} *page;
enum { SIZE = 4096, LOOKUPS = 200000 };

static int stop;

static void *vanish(void *argument) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        mprotect(page, SIZE, PROT_NONE);
        mprotect(page, SIZE, PROT_READ | PROT_WRITE);
    }
    return argument;
}

int main(void) {
    page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    uint32_t hash = 5381;
    for (const char *c = "symbol"; *c; c++) hash = hash * 33 + (unsigned char)*c;
    *page = (struct page){.buckets = 1, .first = 1, .words = 1, .bucket = 1, .chain = hash | 1};
    page->symbols[1] = (struct hl_elf_symbol){.name = 1, .section = 1, .value = 42};
    strcpy(page->names + 1, "symbol");
    struct hl_tables t = {.names = (uintptr_t)page->names,
                          .symbols = (uintptr_t)page->symbols,
                          .gnu_hash = (uintptr_t)page};
    struct hl_window w = {.unstable = true};
    struct hl_elf_symbol found;
    if (!hl_tables_find(&w, &t, "symbol", &found) || found.value != 42) return 2;

    pthread_t thread;
    pthread_create(&thread, NULL, vanish, NULL);
    for (int i = 0; i < LOOKUPS; i++) hl_tables_find(&w, &t, "symbol", &found);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    puts("ok");
    return 0;
}
