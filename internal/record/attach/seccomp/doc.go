// Package seccomp finds out which system calls a seccomp filter permits, by running its program of
// classic BPF. See seccomp(2) and Documentation/networking/filter.rst of Linux.
package seccomp
