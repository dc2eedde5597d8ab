#include "output/names.h"

#include "base/text.h"
#include "process/config.h"

static uint64_t image, sequence;
static bool chosen; // image is valid

static void image_path(char path[HL_PATH], uint64_t number, const char *ending) {
    struct hl_text t = hl_text(path, HL_PATH);
    hl_format(&t, "%s.%u", hl_config.prefix, hl_process_number());
    if (number > 0) hl_format(&t, ".%u", number);
    hl_put_string(&t, ending);
    hl_put_end(&t);
}

// parse_snapshot returns the sequence number in the name of a snapshot of this process, or 0.
static uint64_t parse_snapshot(const char *name, const char *stem) {
    uint64_t pid, number;
    if (!hl_has_prefix(name, stem)) return 0;
    name += hl_strlen(stem);
    if (*name++ != '_' || !hl_parse_number(&name, &pid) || pid != hl_process_number()) return 0;
    if (*name++ != '.' || !hl_parse_number(&name, &number)) return 0;
    return hl_equal(name, ".heap") ? number : 0;
}

struct entry { // struct linux_dirent64
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    unsigned char type;
    char name[];
};

// highest returns the highest sequence number of the snapshots of this process.
static uint64_t highest(void) {
    static char buffer[8192] __attribute__((aligned(8)));
    static char dir[HL_PATH];
    size_t slash = hl_strlen(hl_config.prefix);
    while (hl_config.prefix[slash] != '/') slash--;
    struct hl_text t = hl_text(dir, sizeof dir);
    hl_put(&t, hl_config.prefix, slash + 1);
    hl_put_end(&t);
    long fd = hl_syscall4(HL_SYS_openat, HL_AT_FDCWD, dir, HL_O_DIRECTORY | HL_O_CLOEXEC, 0);
    uint64_t found = 0;
    if (fd < 0) return 0;
    for (long n; (n = hl_syscall3(HL_SYS_getdents64, fd, buffer, sizeof buffer)) > 0;) {
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(buffer + at);
            uint64_t number = parse_snapshot(e->name, hl_config.prefix + slash + 1);
            if (number > found) found = number;
            at += e->length;
        }
    }
    hl_syscall1(HL_SYS_close, fd);
    return found;
}

int hl_names_image(uint64_t *number) {
    enum { MAX_IMAGES = 65536, FLAGS = HL_O_WRONLY | HL_O_CREAT | HL_O_EXCL | HL_O_CLOEXEC };
    static char path[HL_PATH];
    for (uint64_t n = 0; !chosen; n++) {
        image_path(path, n, ".events.jsonl");
        long fd = hl_syscall4(HL_SYS_openat, HL_AT_FDCWD, path, FLAGS, 0644);
        if (fd >= 0) {
            hl_syscall1(HL_SYS_close, fd);
            image = n;
            sequence = highest();
            chosen = true;
        } else if (fd != -HL_EEXIST || n == MAX_IMAGES - 1) {
            return (int)-fd;
        }
    }
    *number = image;
    return 0;
}

void hl_names_reset(void) { chosen = false; }

void hl_names_events(char path[HL_PATH]) { image_path(path, image, ".events.jsonl"); }

void hl_names_frames(char path[HL_PATH]) { image_path(path, image, ".frames.jsonl"); }

uint64_t hl_names_snapshot(char path[HL_PATH]) {
    struct hl_text t = hl_text(path, HL_PATH);
    sequence++;
    hl_format(&t, "%s_%u.%4.heap", hl_config.prefix, hl_process_number(), sequence);
    hl_put_end(&t);
    return sequence;
}
