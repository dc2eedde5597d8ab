// Names by which the engine takes the addresses of the functions that it exports. The addresses of
// the exported names may be those of the C library.
#ifndef HL_HEAP_HOOK_H
#define HL_HEAP_HOOK_H

// HL_HOOK defines hl_hook_NAME, which is the function NAME of this file.
#define HL_HOOK(name)                                                                              \
    extern __typeof__(name) hl_hook_##name __attribute__((alias(#name), visibility("hidden")))

#endif
