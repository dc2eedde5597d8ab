#include "textflag.h"

// The kernel calls a handler with the signal number in R0 and a pointer to siginfo_t in R1. si_code is at offset 8.
// sigreturn restores all registers.
TEXT ·noteSender(SB),NOSPLIT|NOFRAME,$0
	MOVW 8(R1), R9
	MOVD $·senders(SB), R10
	ADD  R0<<2, R10, R10
	MOVW R9, (R10)
	MOVD $·runtimeHandler(SB), R10
	MOVD (R10), R9
	JMP  (R9)

// func noteSenderAddress() uintptr
TEXT ·noteSenderAddress(SB),NOSPLIT,$0-8
	MOVD $·noteSender(SB), R9
	MOVD R9, ret+0(FP)
	RET
