// A library for stacks.c and hostile.c. VARIANT changes the frame of its function.
#ifndef VARIANT
#define VARIANT 1
#endif

__attribute__((visibility("default"), noinline)) int call(void (*f)(void)) {
    volatile char room[VARIANT * 100];
    room[VARIANT] = 1;
    f();
    return room[VARIANT];
}
