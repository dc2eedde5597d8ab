// Reads tables of offsets: that of CPython 3.14, and damaged ones. It is built together with
// src/python/layout.c, and prints what is refused.
#include <stdio.h>
#include <string.h>

#include "python/layout.h"

enum { WORDS = 100 };

// The table of CPython 3.14.0, behind the cookie, up to the strings.
static const uint64_t words[] = {
    0x30e00f0, 0,    316616, 784,  808,  225864, 7280, 7272, 7344, 7360, 7408, 7688, 7672, 7680,
    16,        7784, 0,      7800, 7792, 7992,   0,    832,  0,    8,    16,   72,   152,  160,
    232,       32,   88,     8,    0,    56,     80,   74,   64,   0,    216,  112,  120,  128,
    136,       68,   52,     96,   104,  208,    0,    16,   8,    416,  24,   88,   168,  40,
    32,        16,   40,     24,   16,   200,    24,   40,   32,   48,   32,   40,   24,   16,
    32,        16,   24,     40,   16,   32,     64,   32,   16,   40};

static void read_table(const char *what, int minor, const uint64_t *table) {
    struct hl_layout l;
    const char *reason = "";
    if (hl_layout_of(minor, table, &l, &reason))
        printf("%s: frame %d, thread %d, owner %d, code %d, string %d\n", what, l.thread.frame,
               l.thread.thread_id, l.frame.owner, l.code.instructions, l.string.compact);
    else
        printf("%s: %s\n", what, reason);
}

int main(void) {
    uint64_t table[WORDS] = {0};
    memcpy(table, "xdebugpy", 8);
    memcpy(table + 1, words, sizeof words);
    read_table("3.14", 14, table);
    read_table("3.13", 13, table);
    read_table("3.15", 15, table);
    read_table("3.7", 7, table);
    table[2] = 1;
    read_table("free-threaded", 14, table);
    table[2] = 0;
    table[36] = 1000;
    read_table("offset", 14, table);
    memset(table + 2, 0xff, sizeof table - 16);
    table[2] = 0;
    read_table("damaged", 14, table);
    memset(table, 0, sizeof table);
    read_table("empty", 14, table);
    read_table("3.8", 8, table);
    return 0;
}
