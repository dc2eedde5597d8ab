// Checks that the memory of a large unwind table is released, and only if nothing is lost by it. It
// is built together with the sources of the unwinder, and is given a library with FUNCTIONS
// functions.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/names.h"
#include "walk.h"

uintptr_t hl_name(const char *function, size_t function_length, const char *file,
                  size_t file_length, uint32_t line) {
    (void)function, (void)function_length, (void)file, (void)file_length, (void)line;
    return 1;
}

static void require(int condition, const char *what) {
    if (condition) return;
    printf("%s\n", what);
    exit(1);
}

// --- the table ---

static uintptr_t lo, hi; // the pages of .eh_frame_hdr and .eh_frame

static int find_table(struct dl_phdr_info *info, size_t size, void *name) {
    (void)size;
    if (strcmp(info->dlpi_name, name) != 0) return 0;
    uintptr_t header = 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            header = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && start <= header && header < start + p->p_filesz) {
            lo = header;
            hi = start + p->p_filesz;
        }
    }
    return 1;
}

enum { ABSENT, OF_FILE, CHANGED };

static int state_of(uintptr_t address) {
    int fd = open("/proc/self/pagemap", O_RDONLY);
    uint64_t entry = 0;
    off_t at = (off_t)(address / (uintptr_t)getpagesize() * sizeof entry);
    require(pread(fd, &entry, sizeof entry, at) == sizeof entry, "no pagemap");
    close(fd);
    if (entry >> 63 == 0) return ABSENT;
    return entry >> 61 & 1 ? OF_FILE : CHANGED;
}

// present returns the part of the table that is in memory, in percent.
static int present(void) {
    int pages = 0, all = 0;
    for (uintptr_t at = lo; at < hi; at += (uintptr_t)getpagesize(), all++)
        pages += state_of(at) != ABSENT;
    return pages * 100 / all;
}

// --- calls ---

static const char *functions;
static int current, wrong;

static void unwind(void) {
    static struct hl_stack s;
    const char *function = functions + current * 16;
    walk(&s);
    const char *caller = (const char *)s.pc[0]; // this program is left out, as the engine is
    wrong += s.truncated || s.n == 0 || caller <= function || caller >= function + 16;
}

// use reads the whole table.
static void use(void) {
    uint64_t signals = hl_signals_block();
    hl_unwind_forget();
    for (current = 0; current < FUNCTIONS; current++) {
        void (*function)(void (*)(void));
        const char *address = functions + current * 16;
        memcpy(&function, &address, sizeof function);
        function(unwind);
    }
    hl_signals_restore(signals);
    require(wrong == 0, "wrong stacks");
    require(present() > 90, "the table is not in memory after it was read");
}

static void release(void) {
    uint64_t signals = hl_signals_block();
    hl_unwind_release();
    hl_signals_restore(signals);
}

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    require(library != NULL, "no library");
    functions = dlsym(library, "functions");
    dl_iterate_phdr(find_table, argv[1]);
    hl_unwind_init();

    use();
    release();
    require(present() < 20, "the table was not released");
    use();

    hl_unwind_unloading();
    use();
    release();
    hl_unwind_unloaded();
    require(present() > 90, "the table was released while code was being unloaded");

    // A page that this process has changed, even to what it was before.
    uintptr_t page = (lo + (hi - lo) / 2) & -(uintptr_t)getpagesize();
    volatile char *byte = (char *)page;
    require(mprotect((void *)page, 1, PROT_READ | PROT_WRITE) == 0, "mprotect");
    *byte = *byte;
    require(mprotect((void *)page, 1, PROT_READ) == 0, "mprotect");
    use();
    release();
    require(state_of(page) == CHANGED, "a changed page was released");
    puts("ok");
}
