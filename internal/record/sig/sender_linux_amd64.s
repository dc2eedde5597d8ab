#include "textflag.h"

// A handler gets the number in DI and its siginfo_t in SI, whose si_code is at offset 8. All registers come back when it
// returns.
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
