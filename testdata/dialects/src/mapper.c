/* mapper SECONDS: besides malloc (512 bytes, 40 times a second, kept, in
 * mapper_note) it maps memory itself: mapper_window maps 256 KiB twice a second
 * and unmaps the oldest of eight, mapper_arena maps 1 MiB every second and keeps
 * it. mapper_trim maps 512 KiB every two seconds and unmaps the upper half (the
 * profiler counts that as the whole region's end: 0 regions, bytes left), and
 * mapper_punch every four seconds maps 1 MiB and unmaps two pieces of it (-1
 * regions, bytes left). For HEAP_PROFILE_MMAP=true. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pace.h"

static char *volatile last;

__attribute__((noinline)) static void mapper_note(int i) {
  char *p = malloc(512);
  memset(p, i, 512);
  last = p;
}

__attribute__((noinline)) static void mapper_window(int i) {
  static char *windows[8];
  if (windows[i % 8] != NULL) munmap(windows[i % 8], 262144);
  windows[i % 8] = mmap(NULL, 262144, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  windows[i % 8][0] = (char)i;
}

__attribute__((noinline)) static void mapper_arena(int i) {
  char *p = mmap(NULL, 1048576, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  p[0] = (char)i;
  last = p;
}

__attribute__((noinline)) static void mapper_trim(int i) {
  char *p = mmap(NULL, 524288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(p + 262144, 262144);
  p[0] = (char)i;
  last = p;
}

__attribute__((noinline)) static void mapper_punch(int i) {
  char *p = mmap(NULL, 1048576, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(p + 786432, 262144);
  munmap(p + 262144, 262144);
  p[0] = (char)i;
  last = p;
}

int main(int argc, char **argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 10;
  for (int i = 0; i < seconds * 40; i++) {
    mapper_note(i);
    if (i % 20 == 0) mapper_window(i / 20);
    if (i % 40 == 0) mapper_arena(i / 40);
    if (i % 80 == 0) mapper_trim(i / 80);
    if (i % 160 == 0) mapper_punch(i / 160);
    pace(40);
  }
  _exit(0);
}
