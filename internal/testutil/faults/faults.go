//go:build linux && amd64

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// Call is a system call that touches a file below one of the directories of a [Run].
type Call struct {
	Name string // without variants: open, read, write, stat, rename, …
	Path string // absolute
}

func (c Call) String() string { return c.Name + " " + c.Path }

// Outcome is what happens to a call. The zero value lets it pass.
type Outcome struct {
	Before func()     // is called before, while the calling thread waits; may be nil
	Errno  unix.Errno // if not 0, the call fails
	Short  bool       // a read or write transfers half of the bytes
}

// Run runs a program under supervision.
type Run struct {
	Cmd  *exec.Cmd // not started; Path and Env are changed
	Dirs []string  // absolute
	// Decide is called for each call, one after the other.
	Decide func(c Call) Outcome
}

// Command is the name of the command of the test binary that calls [Exec].
const Command = "under-faults"

// Do runs the program, and kills it when the context ends. The launcher is the path of [Command].
// Do returns the error of [exec.Cmd.Run], or an error that wraps [errors.ErrUnsupported] if the
// kernel does not report calls.
func (r Run) Do(ctx context.Context, launcher string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket")
	defer ours.Close()
	cmd := r.Cmd
	cmd.Args = append([]string{Command, cmd.Path}, cmd.Args...)
	cmd.Path = launcher
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	supervised := make(chan error, 1)
	go func() { supervised <- r.supervise(ours) }()
	exited := cmd.Wait()
	if err := <-supervised; err != nil {
		return err
	}
	return exited
}

// supervise receives the listener of the filter and answers until the program ends.
func (r Run) supervise(socket *os.File) error {
	listener, err := receive(int(socket.Fd()))
	if err != nil {
		return err
	}
	defer os.NewFile(uintptr(listener), "listener").Close()
	s := supervisor{run: r, pid: r.Cmd.Process.Pid, listener: listener}
	return s.serve()
}

// receive returns the file descriptor that the launcher sends.
func receive(socket int) (int, error) {
	text, rights := make([]byte, 256), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := unix.Recvmsg(socket, text, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	if m == 0 {
		return 0, fmt.Errorf("%w: %s", errors.ErrUnsupported, text[:n])
	}
	messages, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil {
		return 0, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// supervisor answers the reports of one program.
type supervisor struct {
	run      Run
	pid      int
	listener int
}

func (s *supervisor) serve() error {
	for {
		ready := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return err
		}
		if ready[0].Revents&unix.POLLIN == 0 { // the last thread has ended
			return nil
		}
		n, err := next(s.listener)
		if err != nil {
			if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) { // the thread was killed
				continue
			}
			return err
		}
		if err := reply(s.listener, s.decide(n)); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
}

// decide returns the answer to a report.
func (s *supervisor) decide(n *notification) response {
	pass := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	call, ok := s.call(n)
	if !ok {
		return pass
	}
	o := s.run.Decide(call)
	if o.Before != nil {
		o.Before()
	}
	switch {
	case o.Errno != 0:
		return response{id: n.id, errno: -int32(o.Errno)}
	case o.Short:
		if done, ok := s.half(n); ok {
			return response{id: n.id, val: done}
		}
	}
	return pass
}

// call returns what a report is about. It reports whether it is a call of the program itself, not
// of its children, about a file below one of the directories.
func (s *supervisor) call(n *notification) (Call, bool) {
	k, ok := kinds[int(n.nr)]
	if !ok {
		return Call{}, false
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", s.pid, n.pid)); err != nil {
		return Call{}, false
	}
	path := s.path(n, k)
	for _, dir := range s.run.Dirs {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return Call{Name: k.name, Path: path}, true
		}
	}
	return Call{}, false
}

// path returns the path that a call is about, or "".
func (s *supervisor) path(n *notification, k kind) string {
	fd := int32(n.args[max(k.fd, 0)])
	at := ""
	if k.fd >= 0 && fd >= 0 {
		at, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", s.pid, fd))
	}
	if k.text < 0 {
		return strings.TrimSuffix(at, " (deleted)")
	}
	switch name := s.text(n.args[k.text]); {
	case name == "":
		return at
	case name[0] == '/':
		return name
	case at != "":
		return at + "/" + name
	default:
		dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.pid))
		return dir + "/" + name
	}
}

// text returns the string at an address of the program.
func (s *supervisor) text(addr uint64) string {
	buf := make([]byte, unix.PathMax)
	// A read across the end of a page may fail.
	for size := len(buf); size > 0; size /= 2 {
		if n, err := s.readMemory(buf[:size], addr); err == nil {
			text, _, ended := strings.Cut(string(buf[:n]), "\x00")
			if ended {
				return text
			}
		}
	}
	return ""
}

func (s *supervisor) readMemory(b []byte, addr uint64) (int, error) {
	return unix.ProcessVMReadv(s.pid, vector(b), remote(addr, len(b)), 0)
}

func (s *supervisor) writeMemory(b []byte, addr uint64) (int, error) {
	return unix.ProcessVMWritev(s.pid, vector(b), remote(addr, len(b)), 0)
}

func vector(b []byte) []unix.Iovec {
	v := []unix.Iovec{{Base: &b[0]}}
	v[0].SetLen(len(b))
	return v
}

func remote(addr uint64, n int) []unix.RemoteIovec {
	return []unix.RemoteIovec{{Base: uintptr(addr), Len: n}}
}

// half reads or writes half of the bytes in place of the program, and returns their number.
func (s *supervisor) half(n *notification) (int64, bool) {
	if n.args[2] < 2 || n.args[2] > 1<<30 {
		return 0, false
	}
	process, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return 0, false
	}
	defer os.NewFile(uintptr(process), "process").Close()
	fd, err := unix.PidfdGetfd(process, int(n.args[0]), 0)
	if err != nil {
		return 0, false
	}
	defer os.NewFile(uintptr(fd), "copy").Close()
	buf := make([]byte, n.args[2]/2)
	done, err := s.transfer(n, fd, buf)
	return int64(done), err == nil
}

func (s *supervisor) transfer(n *notification, fd int, buf []byte) (done int, err error) {
	switch n.nr {
	case unix.SYS_READ:
		done, err = unix.Read(fd, buf)
	case unix.SYS_PREAD64:
		done, err = unix.Pread(fd, buf, int64(n.args[3]))
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		if _, err = s.readMemory(buf, n.args[1]); err != nil {
			return 0, err
		}
		if n.nr == unix.SYS_WRITE {
			return unix.Write(fd, buf)
		}
		return unix.Pwrite(fd, buf, int64(n.args[3]))
	default:
		return 0, errors.ErrUnsupported
	}
	if err == nil && done > 0 {
		_, err = s.writeMemory(buf[:done], n.args[1])
	}
	return done, err
}
