//go:build linux && amd64

package faults

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kind is a system call that is reported.
type kind struct {
	name     string
	fd, text int // which argument is the file descriptor, and which the path; -1 if none
}

// kinds are the system calls about files that Go's library makes.
var kinds = map[int]kind{
	unix.SYS_OPENAT:          {"open", 0, 1},
	unix.SYS_READ:            {"read", 0, -1},
	unix.SYS_PREAD64:         {"read", 0, -1},
	unix.SYS_WRITE:           {"write", 0, -1},
	unix.SYS_PWRITE64:        {"write", 0, -1},
	unix.SYS_COPY_FILE_RANGE: {"copy", 2, -1},
	unix.SYS_SENDFILE:        {"copy", 0, -1},
	unix.SYS_MMAP:            {"map", 4, -1},
	unix.SYS_CLOSE:           {"close", 0, -1},
	unix.SYS_FSYNC:           {"sync", 0, -1},
	unix.SYS_FTRUNCATE:       {"resize", 0, -1},
	unix.SYS_FALLOCATE:       {"resize", 0, -1},
	unix.SYS_FSTAT:           {"stat", 0, -1},
	unix.SYS_NEWFSTATAT:      {"stat", 0, 1},
	unix.SYS_STATX:           {"stat", 0, 1},
	unix.SYS_READLINKAT:      {"readlink", 0, 1},
	unix.SYS_GETDENTS64:      {"list", 0, -1},
	unix.SYS_RENAMEAT:        {"rename", 2, 3},
	unix.SYS_RENAMEAT2:       {"rename", 2, 3},
	unix.SYS_LINKAT:          {"link", 2, 3},
	unix.SYS_SYMLINKAT:       {"link", 1, 2},
	unix.SYS_UNLINKAT:        {"remove", 0, 1},
	unix.SYS_MKDIRAT:         {"mkdir", 0, 1},
	unix.SYS_FCHMOD:          {"chmod", 0, -1},
	unix.SYS_FCHMODAT:        {"chmod", 0, 1},
	unix.SYS_FLOCK:           {"lock", 0, -1},
}

// Exec replaces this process by a program whose calls are reported: Exec is the command that
// [Run.Do] starts. Its arguments are the path of the program and the arguments of the program. The
// listener is sent through file descriptor 3.
func Exec() {
	const socket = 3
	runtime.LockOSThread() // the filter belongs to the thread
	listener, err := install()
	if err != nil {
		_ = unix.Sendmsg(socket, []byte(err.Error()), nil, nil, 0)
		os.Exit(1)
	}
	err = unix.Sendmsg(socket, []byte{0}, unix.UnixRights(listener), nil, 0)
	if err == nil {
		_ = unix.Close(socket)
		unix.CloseOnExec(listener)
		err = syscall.Exec(os.Args[1], os.Args[2:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// install installs the filter in the calling thread, and returns its listener.
func install() (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	filter := program()
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// Without WAIT_KILLABLE_RECV, signals of Go's scheduler interrupt calls that wait for an
	// answer.
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return 0, fmt.Errorf("seccomp: %w", errno)
	}
	return int(fd), nil
}

// Offsets in struct seccomp_data.
const (
	offsetNumber = 0
	offsetFlags  = 16 + 3*8 // the fourth argument, which has the flags of mmap
)

// program returns the filter: it reports the calls in kinds and permits all others. Memory without
// a file is the most frequent reason for mmap and is permitted.
func program() []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	equal := func(nr int, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(nr), Jf: skip}
	}
	answer := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	p := []unix.SockFilter{
		load(offsetNumber),
		equal(unix.SYS_MMAP, 4),
		load(offsetFlags),
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.MAP_ANONYMOUS, Jf: 1},
		answer(unix.SECCOMP_RET_ALLOW),
		load(offsetNumber),
	}
	for nr := range kinds {
		p = append(p, equal(nr, 1), answer(unix.SECCOMP_RET_USER_NOTIF))
	}
	return append(p, answer(unix.SECCOMP_RET_ALLOW))
}

// notification is struct seccomp_notif.
type notification struct {
	id   uint64
	pid  uint32 // of the thread
	_    uint32
	nr   int32
	_    uint32
	_    uint64
	args [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// next waits for a report.
func next(listener int) (*notification, error) {
	n := new(notification)
	return n, ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n))
}

// reply answers a report.
func reply(listener int, r response) error {
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

func ioctl(fd int, request uintptr, data unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(data)); errno != 0 {
		return errno
	}
	return nil
}
