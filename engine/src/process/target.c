#include "process/target.h"

#include "base/config.h"
#include "base/objects.h"
#include "base/text.h"

// The list of wrappers is the same as in internal/record/program/target.go.
static const char *const wrappers[] = {
    "sh",      "bash",      "dash",      "zsh",       "ksh",    "ash",      "fish",
    "busybox", "env",       "timeout",   "nice",      "ionice", "nohup",    "stdbuf",
    "setsid",  "taskset",   "chrt",      "numactl",   "time",   "setpriv",  "prlimit",
    "tini",    "dumb-init", "catatonit", "su-exec",   "gosu",   "chroot",   "unshare",
    "setarch", "xvfb-run",  "pyenv",     "catchsegv", "bwrap",  "firejail", "nsjail",
};

static bool is_wrapper(const char *exe) {
    const char *base = hl_base_name(exe);
    for (size_t i = 0; i < HL_LENGTH(wrappers); i++)
        if (hl_equal(base, wrappers[i])) return true;
    return false;
}

// read_exe reads the path of the program's file, which is empty if it is not known. It has no mark
// that the file was deleted: a program that is updated while it runs starts its workers from the
// new file.
static void read_exe(char *exe, size_t size) {
    static const char deleted[] = " (deleted)";
    size_t mark = sizeof deleted - 1;
    long n = hl_syscall4(HL_SYS_readlinkat, HL_AT_FDCWD, "/proc/self/exe", exe, size - 1);
    size_t length = n > 0 ? (size_t)n : 0;
    exe[length] = 0;
    if (length > mark && hl_equal(exe + length - mark, deleted)) exe[length - mark] = 0;
}

// --- the identity of the main program ---

enum { HEX = 16 };

// struct identity is two numbers in hexadecimal: of the file, by device and inode, and of its path.
struct identity {
    char file[HEX], path[HEX];
};

static void put_hex(char *to, uint64_t v) {
    for (int i = HEX - 1; i >= 0; i--, v >>= 4) to[i] = "0123456789abcdef"[v & 15];
}

// mix adds a number to a hash (FNV-1a).
static uint64_t mix(uint64_t hash, uint64_t v) { return (hash ^ v) * UINT64_C(0x100000001b3); }

static struct identity identity_of(const char *exe) {
    const uint64_t start = UINT64_C(0xcbf29ce484222325);
    uint64_t path = start;
    uint64_t file[32] = {0}; // struct stat begins with device and inode
    struct identity id;
    for (; *exe; exe++) path = mix(path, (unsigned char)*exe);
    hl_syscall4(HL_SYS_newfstatat, HL_AT_FDCWD, "/proc/self/exe", file, 0);
    put_hex(id.file, mix(mix(start, file[0]), file[1]));
    put_hex(id.path, path);
    return id;
}

static bool has_identity(void) {
    if (!hl_config.program) return false;
    for (size_t i = 0; i < sizeof(struct identity); i++)
        if (hl_config.program[i] <= ' ') return false;
    return true;
}

static bool is_main_program(const char *exe) {
    if (!*exe || !has_identity()) return false;
    struct identity id = identity_of(exe);
    return memcmp(hl_config.program, id.file, HEX) == 0 ||
           memcmp(hl_config.program + HEX, id.path, HEX) == 0;
}

// --- which process is recorded ---

enum { DIGITS = 7 };

// become_main writes the number and the program of this process into the environment.
static void become_main(const char *exe) {
    struct hl_text t = hl_text(hl_config.main, DIGITS);
    hl_put_number(&t, hl_process.pid, DIGITS);
    if (!has_identity()) return;
    struct identity id = identity_of(exe);
    memcpy(hl_config.program, &id, sizeof id);
}

bool hl_target_claim(void) {
    static char exe[1024];
    uint64_t owner;
    const char *s = hl_config.main;
    if (hl_config.children == HL_ALL) return true;
    if (!s || !hl_parse_number(&s, &owner) || s - hl_config.main != DIGITS) return false;
    read_exe(exe, sizeof exe);
    hl_process.is_worker = owner != 0 && owner != hl_process.pid;
    if (hl_process.is_worker) return hl_config.children == HL_WORKERS && is_main_program(exe);
    if (owner == 0 && is_wrapper(exe)) return false;
    become_main(exe);
    return true;
}

static void read_libc(char *to, size_t size) {
    struct hl_symbol version = {.name = "gnu_get_libc_version"};
    struct hl_text t = hl_text(to, size);
    hl_find(&version, 1);
    if (version.address)
        hl_format(&t, "glibc %s", ((const char *(*)(void))version.address)());
    else
        hl_put_string(&t, "musl");
    hl_put_end(&t);
}

void hl_target_read(void) {
    hl_process.pid = (uint64_t)hl_syscall0(HL_SYS_getpid);
    hl_process.parent = (uint64_t)hl_syscall0(HL_SYS_getppid);
    hl_process.started = hl_clock(HL_MONOTONIC);
    hl_process.started_at = hl_clock(HL_REALTIME);
    hl_process.is_fork = hl_process.is_worker = false;
    read_libc(hl_process.libc, sizeof hl_process.libc);
}
