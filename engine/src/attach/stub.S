# The code that heaplapse writes into a process before the engine is there. It is position
# independent, and keeps the address of its context in rbx. The context's fields are the same in
# internal/record/attach/inject/context.go.
#
# borrowed is run by a thread of the process, on a stack of its own, and must leave it as it was: it
# creates the helper, tells so, and waits some milliseconds for heaplapse to put the thread back. If
# heaplapse has died meanwhile, the thread puts itself back, by rt_sigreturn from the context.
#
# helper is the body of the new thread: it makes an anonymous file, waits until heaplapse has filled
# it with the engine, loads it, and jumps to the engine. If the engine is there already, it waits too:
# it must not compete for the processor with the thread that is being put back.

	.set pthread_create, 0x00
	.set errno_location, 0x08
	.set dlopen, 0x10
	.set dlsym, 0x18
	.set dlerror, 0x20
	.set thread, 0x28	# pthread_t
	.set created, 0x30	# int: what pthread_create returned
	.set returned, 0x34	# int: 1 when pthread_create has returned
	.set state, 0x38	# int: 1 the file is there, 2 failed, 3 loaded
	.set filled, 0x3c	# int: 1 when the thread is put back and the file has its content
	.set file, 0x40	# long: file descriptor, or -errno
	.set handle, 0x50	# result of dlopen
	.set entry, 0x58	# the engine's function; 0: load the engine first
	.set pause_time, 0x60	# struct timespec
	.set pauses, 0x70	# int: how often the helper has waited
	.set name, 0x100	# of the file
	.set symbol, 0x120	# of the engine's function
	.set path, 0x140	# of the file
	.set error, 0x240	# text of dlerror, 256 bytes
	.set frame, 0x2000	# struct ucontext: the thread as it was
	.set boot, 0x400	# argument of the engine's function

	.set SYS_close, 3
	.set SYS_rt_sigreturn, 15
	.set SYS_sched_yield, 24
	.set SYS_nanosleep, 35
	.set SYS_memfd_create, 319
	.set EINVAL, 22
	.set CLOEXEC, 1
	.set EXECUTABLE, 0x10	# MFD_EXEC, which kernels before 6.3 do not know
	.set RTLD_NOW, 2
	.set MOST_PAUSES, 10000	# of 1 ms
	.set SPINS, 0x40000
	.set YIELD_MASK, 0x7fff	# after so many spins other threads may run, such as the helper

	.text
	.globl _start
_start:
borrowed:
	call *errno_location(%rbx)
	mov %rax, %r12
	mov (%rax), %r13d
	lea thread(%rbx), %rdi
	xor %esi, %esi
	lea helper(%rip), %rdx
	mov %rbx, %rcx
	call *pthread_create(%rbx)
	mov %eax, created(%rbx)
	mov %r13d, (%r12)
	movl $1, returned(%rbx)
	mov $SPINS, %r14d
1:	pause
	test $YIELD_MASK, %r14d
	jnz 2f
	mov $SYS_sched_yield, %eax
	syscall
2:	dec %r14d
	jnz 1b
	lea frame(%rbx), %rsp
	mov $SYS_rt_sigreturn, %eax
	syscall
	hlt

helper:
	push %rbx
	mov %rdi, %rbx
	cmpq $0, entry(%rbx)
	jne 2f
	lea name(%rbx), %rdi
	mov $(CLOEXEC | EXECUTABLE), %esi
	mov $SYS_memfd_create, %eax
	syscall
	cmp $-EINVAL, %rax
	jne 1f
	lea name(%rbx), %rdi
	mov $CLOEXEC, %esi
	mov $SYS_memfd_create, %eax
	syscall
1:	mov %rax, file(%rbx)
	test %rax, %rax
	js give_up
	movl $1, state(%rbx)
2:	cmpl $0, filled(%rbx)
	jne enter
	incl pauses(%rbx)
	cmpl $MOST_PAUSES, pauses(%rbx)
	ja abandoned
	lea pause_time(%rbx), %rdi
	xor %esi, %esi
	mov $SYS_nanosleep, %eax
	syscall
	jmp 2b

enter:
	mov entry(%rbx), %rax
	test %rax, %rax
	jnz start
	lea path(%rbx), %rdi
	mov $RTLD_NOW, %esi
	call *dlopen(%rbx)
	mov %rax, handle(%rbx)
	test %rax, %rax
	jz copy_error
	mov file(%rbx), %rdi
	mov $SYS_close, %eax
	syscall
	mov handle(%rbx), %rdi
	lea symbol(%rbx), %rsi
	call *dlsym(%rbx)
	test %rax, %rax
	jz copy_error
start:
	lea boot(%rbx), %rdi
	movl $3, state(%rbx)
	pop %rbx
	jmp *%rax

copy_error:	# the text belongs to this thread
	call *dlerror(%rbx)
	test %rax, %rax
	jz close_and_give_up
	xor %ecx, %ecx
1:	mov (%rax,%rcx), %dl
	test %dl, %dl
	jz close_and_give_up
	mov %dl, error(%rbx,%rcx)
	inc %ecx
	cmp $255, %ecx
	jb 1b
abandoned:
	cmpq $0, entry(%rbx)
	jne give_up	# there is no file
close_and_give_up:
	mov file(%rbx), %rdi
	mov $SYS_close, %eax
	syscall
give_up:
	movl $2, state(%rbx)
	pop %rbx
	xor %eax, %eax
	ret
