// Names frames in several threads, writes them, and writes them again in a child process. It is built
// together with src/output/frames.c. The test reads the files.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/channel.h"
#include "base/names.h"
#include "output/frames.h"

static const char *path; // NULL: the recorder does not read

// hl_channel_put appends to a file.
int hl_channel_put(enum hl_message kind, const void *data, size_t n) {
    FILE *f = path ? fopen(path, "a") : NULL;
    if (kind != HL_FRAMES || !f || fwrite(data, 1, n, f) != n) return EPIPE;
    return fclose(f);
}

enum { THREADS = 4, NAMES = 2000 };

static uintptr_t address[THREADS][NAMES];

static uintptr_t name(int i) {
    char function[40], file[40];
    int n = snprintf(function, sizeof function, "f%d", i / 3);
    int m = snprintf(file, sizeof file, "/srv/%d.py", i % 7);
    return hl_name(function, (size_t)n, file, (size_t)m, (uint32_t)i, "python");
}

static void *work(void *number) {
    for (int i = 0; i < NAMES; i++) address[(long)number][i] = name(i);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    if (argc != 3) return 2;
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 1; i < THREADS; i++)
        if (memcmp(address[0], address[i], sizeof address[0]) != 0) return 1;
    path = argv[1];
    if (!hl_frames_write(12, 0, 34)) return 1;
    static const char odd[] = "a\"b\\c\n\xff\xe2\x82\xac";
    if (hl_name(odd, sizeof odd - 1, "", 0, 0, NULL) < HL_NAMED) return 1;
    path = NULL;
    if (hl_frames_write(12, 0, 34)) return 1;
    path = argv[1];
    if (!hl_frames_write(12, 0, 34) || !hl_frames_write(12, 0, 34)) return 1;
    if (fork() == 0) {
        path = argv[2];
        hl_frames_forked();
        _exit(hl_frames_write(13, 2, 35) ? 0 : 1);
    }
    int status = 1;
    wait(&status);
    return status != 0;
}
