// A library with a large unwind table: FUNCTIONS functions of 16 bytes each. Every one calls the
// function that it is given.
#define TEXT(x) #x
#define STRING(x) TEXT(x)
__asm__(".text\n"
        ".globl functions\n"
        ".p2align 4\n"
        "functions:\n"
        ".rept " STRING(FUNCTIONS) "\n"
                                   ".p2align 4\n"
                                   ".cfi_startproc\n"
#if defined(__x86_64__)
                                   "sub $8, %rsp\n"
                                   ".cfi_def_cfa_offset 16\n"
                                   "call *%rdi\n"
                                   "add $8, %rsp\n"
                                   ".cfi_def_cfa_offset 8\n"
                                   "ret\n"
#elif defined(__aarch64__)
                                   "stp x29, x30, [sp, #-16]!\n"
                                   ".cfi_def_cfa_offset 16\n"
                                   ".cfi_offset 29, -16\n"
                                   ".cfi_offset 30, -8\n"
                                   "blr x0\n"
                                   "ldp x29, x30, [sp], #16\n"
                                   "ret\n"
#endif
                                   ".cfi_endproc\n"
                                   ".endr\n");
