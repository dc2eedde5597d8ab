//go:build linux

package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Info holds properties of a process.
type Info struct {
	Parent  int
	Started time.Time
	Command []string
	Exe     string
}

// Read returns the properties of a process. It returns false if the process has ended.
func Read(pid int) (Info, bool) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return Info{}, false
	}
	parent, ticks, ok := ParseStat(stat)
	if !ok {
		return Info{}, false
	}
	p := Info{Parent: parent, Started: bootTime().Add(time.Duration(ticks) * time.Second / 100)}
	if line, err := os.ReadFile(dir + "cmdline"); err == nil && len(line) > 0 {
		text := strings.TrimSuffix(string(line), "\x00")
		if strings.HasSuffix(text, "\x00\x00") { // the rest of the arguments that a title has replaced
			text = strings.TrimRight(text, "\x00")
		}
		p.Command = strings.Split(text, "\x00")
	}
	p.Exe, _ = os.Readlink(dir + "exe")
	return p, true
}

// ParseStat returns the parent (field 4) and the start time in ticks (field 22) of /proc/PID/stat,
// which proc(5) documents. The name in field 2 may contain spaces and parentheses.
func ParseStat(stat []byte) (parent int, ticks int64, ok bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, 0, false
	}
	fields := strings.Fields(string(stat[i+1:])) // from field 3 on
	if len(fields) < 20 {
		return 0, 0, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	ticks, err2 := strconv.ParseInt(fields[19], 10, 64)
	return parent, ticks, err1 == nil && err2 == nil
}

// User returns the effective user of a process. It returns false if the process has ended.
func User(pid int) (user int, ok bool) {
	fields := strings.Fields(statusField(pid, "Uid")) // real, effective, saved, of files
	if len(fields) < 2 {
		return 0, false
	}
	user, err := strconv.Atoi(fields[1])
	return user, err == nil
}

// Filters returns the number of seccomp filters of a process, which its children inherit. Before
// Linux 5.9, which has no such number, it returns 1 if there are any.
func Filters(pid int) int64 {
	if n, err := strconv.ParseInt(statusField(pid, "Seccomp_filters"), 10, 64); err == nil {
		return n
	}
	if mode := statusField(pid, "Seccomp"); mode != "" && mode != "0" {
		return 1
	}
	return 0
}

// statusField returns a field of /proc/PID/status, or "" if the process has ended.
func statusField(pid int, name string) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Own returns the number that a process has for itself: another one in a PID namespace of its own, such as that of a
// container. It returns false if the process has ended.
func Own(pid int) (own int, ok bool) {
	numbers := strings.Fields(statusField(pid, "NSpid")) // from this namespace inwards
	if len(numbers) == 0 {
		return 0, false
	}
	own, err := strconv.Atoi(numbers[len(numbers)-1])
	return own, err == nil
}

// bootTime returns the time when the system started. Ticks are counted from then, at 100 per second
// (USER_HZ) on all supported architectures.
func bootTime() time.Time {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return time.Unix(seconds, 0)
		}
	}
	return time.Time{}
}

// Alive reports whether a process exists and is not a zombie.
func Alive(pid int) bool {
	state := stateOf(pid)
	return state != 0 && state != 'Z' && state != 'X'
}

// Stopped reports whether a process is stopped, for instance by ^Z.
func Stopped(pid int) bool { return stateOf(pid) == 'T' }

// stateOf returns field 3 of /proc/PID/stat, or 0 if the process has ended.
func stateOf(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 || i+2 >= len(stat) {
		return 0
	}
	return stat[i+2]
}

// CopySignal is the exit signal of the copies of a process that package snapshot makes, which is no signal. They are
// no programs.
const CopySignal = 104

// isCopy reports whether a process is such a copy.
func isCopy(pid int) bool {
	const exitSignal = 38 - 3 // its index behind the name; see proc(5)
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return len(f) > exitSignal && f[exitSignal] == strconv.Itoa(CopySignal)
}

// Children returns the direct children of a process, those of all its threads.
func Children(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var out []int
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for _, w := range strings.Fields(string(data)) {
			if n, err := strconv.Atoi(w); err == nil && !isCopy(n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// Memory returns the resident and the proportional set size of a process, in bytes. They are nil if
// unknown, for instance before Linux 4.14, which has no smaps_rollup.
func Memory(pid int) (rss, pss *int64) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		fields := strings.Fields(in.Text())
		if len(fields) < 3 || fields[2] != "kB" {
			continue
		}
		kib, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			continue
		}
		bytes := kib << 10
		switch fields[0] {
		case "Rss:":
			rss = &bytes
		case "Pss:":
			pss = &bytes
		}
	}
	return rss, pss
}

// Resident returns the resident set size of a process in bytes, or nil if unknown. It costs less
// than [Memory], and may differ from it by some pages.
func Resident(pid int) *int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 2 {
		return nil
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || pages == 0 {
		return nil // a process that has ended has none
	}
	bytes := pages * int64(os.Getpagesize())
	return &bytes
}

// Anonymous returns how much of the resident memory of a process is not of files, or 0 if it is unknown.
func Anonymous(pid int) int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, resident, files int64
	if _, err := fmt.Sscan(string(data), &size, &resident, &files); err != nil {
		return 0
	}
	return (resident - files) * int64(os.Getpagesize())
}

// Threads returns the number of threads of a process, or 0 if it is unknown.
func Threads(pid int) int {
	n, _ := strconv.Atoi(statusField(pid, "Threads"))
	return n
}

// CPU returns the time that all threads of a process have run, in nanoseconds, or nil if unknown.
// It is the exact sum of utime and stime, which /proc/PID/stat has in ticks of 10 ms. The clock of
// another process is that of clock_getcpuclockid(3).
func CPU(pid int) *int64 {
	const schedClock = 2 // CPUCLOCK_SCHED of the kernel's posix-timers_types.h
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &t); err != nil {
		return nil
	}
	ns := t.Nano()
	return &ns
}

// AwaitEnd waits until a child of this process has ended, which stays a zombie. Unlike wait(2), it is not told of the
// stops of a child that this process traces. It reports whether it could wait: that needs Linux 5.3.
func AwaitEnd(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if n > 0 || err != nil && err != unix.EINTR {
			return err == nil
		}
	}
}

// CanAwaitEnd reports whether AwaitEnd works for a process.
func CanAwaitEnd(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
}

// CPUAtEnd waits until a child of this process has ended, and returns the time that its threads
// have run, as [CPU] does. The child stays a zombie. It returns nil if it cannot wait. This process may trace the
// child only if AwaitEnd works.
func CPUAtEnd(pid int) *int64 {
	AwaitEnd(pid)
	for {
		switch err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err {
		case nil:
			return CPU(pid)
		case unix.EINTR:
		default:
			return nil
		}
	}
}

// Catches reports whether a process has a handler for a signal.
func Catches(pid, signal int) bool {
	mask, err := strconv.ParseUint(statusField(pid, "SigCgt"), 16, 64)
	return err == nil && signal > 0 && mask&(1<<(signal-1)) != 0
}

// Descendants returns the processes below a process, as far as their parents live.
func Descendants(pid int) (out []int) {
	for next := Children(pid); len(next) > 0; {
		out = append(out, next...)
		var below []int
		for _, child := range next {
			below = append(below, Children(child)...)
		}
		next = below
	}
	return out
}
