// Filters of system calls for harm.c and moments.c.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

enum { FILTER_CALLS = 64 };
struct filter {
	struct sock_filter code[2 * FILTER_CALLS + 2];
	struct sock_fprog program;
};

// filter_make gives n system calls one action, and all others another one.
static inline struct sock_fprog *filter_make(struct filter *f, const int *calls, size_t n, unsigned action, unsigned otherwise) {
	struct sock_filter *c = f->code;
	*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n && i < FILTER_CALLS; i++) {
		*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	f->program = (struct sock_fprog){(unsigned short)(c - f->code), f->code};
	return &f->program;
}
