//go:build linux

package target

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Thread is what /proc tells about a thread without stopping it.
type Thread struct {
	ID int
	// Running reports whether it was not blocked.
	Running bool
	// Call is the number of the system call in which it is blocked, or -1.
	Call int64
	Name string
}

// Threads returns the threads of a process.
func Threads(pid int) (list []Thread) {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if t, ok := readThread(pid, id); ok {
			list = append(list, t)
		}
	}
	return list
}

// readThread reads /proc/PID/task/ID/syscall:
//
//	running
//	232 0x3 0x7ffc… 0x400 0xffffffffffffffff 0x0 0x0 0x7ffc… 0x7f1c…
//	-1 0x7ffc… 0x7f1c…
func readThread(pid, id int) (t Thread, ok bool) {
	dir := fmt.Sprintf("/proc/%d/task/%d/", pid, id)
	b, err := os.ReadFile(dir + "syscall")
	if err != nil {
		return t, false
	}
	t = Thread{ID: id, Call: -1}
	first, _, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	if t.Running = first == "running"; !t.Running {
		if t.Call, err = strconv.ParseInt(first, 10, 64); err != nil {
			return t, false
		}
	}
	name, err := os.ReadFile(dir + "comm")
	t.Name = string(bytes.TrimSuffix(name, []byte("\n")))
	return t, err == nil
}

// Status returns a field of /proc/PID/status, or "". pid may be the number of a thread.
func Status(pid int, field string) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && name == field {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Tracer returns the process that traces another one, such as "815 (gdb)", or "".
func Tracer(pid int) string {
	tracer := Status(pid, "TracerPid")
	if tracer == "" || tracer == "0" {
		return ""
	}
	if id, err := strconv.Atoi(tracer); err == nil { // the number of a thread
		tracer = cmp.Or(Status(id, "Tgid"), tracer)
	}
	if name, err := os.ReadFile("/proc/" + tracer + "/comm"); err == nil {
		tracer += " (" + strings.TrimSpace(string(name)) + ")"
	}
	return tracer
}

// SignalPending reports whether a signal that the thread does not block waits for it.
func SignalPending(id int) bool {
	mask := func(field string) uint64 {
		v, _ := strconv.ParseUint(Status(id, field), 16, 64)
		return v
	}
	return (mask("SigPnd")|mask("ShdPnd"))&^mask("SigBlk") != 0
}
