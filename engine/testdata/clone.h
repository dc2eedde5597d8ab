// Replaces output/clone.h for a sanitizer, which must know the engine's thread: processraces.c has
// hl_clone.
#define HL_OUTPUT_CLONE_H
enum { HL_CLONE_FS = 0x200, HL_CLONE_FILES = 0x400 };
long hl_clone(void (*f)(void), void *stack_end, int *id);
