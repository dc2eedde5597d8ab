// Unwinds through a library whose call frame information is damaged at random. It is built together
// with the sources of the unwinder. Whatever is in the tables, the unwinder must return.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "walk.h"

static struct {
    unsigned char *at;
    size_t size;
} table;

static int find_table(struct dl_phdr_info *info, size_t size, void *name) {
    (void)size;
    if (strcmp(info->dlpi_name, name) != 0) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_GNU_EH_FRAME) continue;
        table.at = (unsigned char *)info->dlpi_addr + p->p_vaddr;
        table.size = p->p_memsz;
    }
    return 1;
}

static uint64_t state = 88172645463325252;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static unsigned long stacks, short_ones;

static void unwind(void) {
    static struct hl_stack s;
    walk(&s);
    stacks++;
    short_ones += s.truncated;
}

int main(int argc, char **argv) {
    long rounds = argc > 2 ? atol(argv[2]) : 1;
    void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*call)(void (*)(void)) = (int (*)(void (*)(void)))dlsym(handle, "call");
    dl_iterate_phdr(find_table, argv[1]);
    if (call == NULL || table.size == 0) return 2;
    // The .eh_frame follows the table, in the same page or the next one.
    uintptr_t page = (uintptr_t)table.at & -(uintptr_t)4096;
    size_t size = 4096, damaged = page + size - (uintptr_t)table.at;
    if (mprotect((void *)page, size, PROT_READ | PROT_WRITE) != 0) return 2;
    unsigned char *original = malloc(damaged);
    memcpy(original, table.at, damaged);
    if (damaged > table.size + 512) damaged = table.size + 512;
    hl_unwind_init();
    for (long i = 0; i < rounds; i++) {
        for (int k = 1 + (int)(next_random() % 8); k > 0; k--)
            table.at[next_random() % damaged] = (unsigned char)next_random();
        hl_unwind_forget();
        call(unwind);
        memcpy(table.at, original, damaged);
    }
    printf("%lu stacks, %lu truncated\n", stacks, short_ones);
    return stacks == (unsigned long)rounds && short_ones > 0 ? 0 : 1;
}
