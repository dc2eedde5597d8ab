#include "textflag.h"

// The kernel calls a handler with the signal number in DI and a pointer to siginfo_t in SI. si_code is at offset 8.
// sigreturn restores all registers.
TEXT ·noteSender(SB),NOSPLIT|NOFRAME,$0
	MOVL 8(SI), AX
	LEAQ ·senders(SB), CX
	MOVL AX, (CX)(DI*4)
	MOVQ ·runtimeHandler(SB), AX
	JMP  AX

// func noteSenderAddress() uintptr
TEXT ·noteSenderAddress(SB),NOSPLIT,$0-8
	LEAQ ·noteSender(SB), AX
	MOVQ AX, ret+0(FP)
	RET
