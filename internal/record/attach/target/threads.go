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
	// Call is the number of the system call in which it is blocked, or -1, and Arguments has those of the call.
	Call      int64
	Arguments [6]uint64
	// SP and PC are its stack pointer, and the address behind the instruction that makes the call, or 0.
	SP, PC uint64
	// Name is set by Threads.
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
		if t, ok := ReadThread(pid, id); ok {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, id))
			t.Name = string(bytes.TrimSuffix(name, []byte("\n")))
			list = append(list, t)
		}
	}
	return list
}

// ReadThread returns what /proc tells about a thread, except for its name, or ok false if it has ended. It reads
// /proc/PID/task/ID/syscall, which has one of these lines (fs/proc/base.c):
//
//	running
//	232 0x3 0x7ffc… 0x400 0xffffffffffffffff 0x0 0x0 0x7ffc… 0x7f1c…
//	-1 0x7ffc… 0x7f1c…
func ReadThread(pid, id int) (t Thread, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, id))
	t.ID = id
	return t, err == nil && t.parse(strings.Fields(string(b)))
}

func (t *Thread) parse(fields []string) (ok bool) {
	if t.Call = -1; len(fields) == 1 && fields[0] == "running" {
		t.Running = true
		return true
	}
	const idle, blocked = 3, 9 // fields of a thread that is blocked outside of a system call, and in one
	words := make([]uint64, len(fields))
	for i, f := range fields {
		v, err := strconv.ParseUint(f, 0, 64)
		if i > 0 && err != nil {
			return false
		}
		words[i] = v
	}
	if len(fields) != idle && len(fields) != blocked {
		return false
	}
	var err error
	t.Call, err = strconv.ParseInt(fields[0], 10, 64)
	t.SP, t.PC = words[len(words)-2], words[len(words)-1]
	copy(t.Arguments[:], words[1:len(words)-2])
	return err == nil
}

// Calls is a set of system calls by their numbers.
func Calls(numbers ...int64) map[int64]bool {
	m := map[int64]bool{}
	for _, n := range numbers {
		m[n] = true
	}
	return m
}

// StatFields returns the fields of /proc/PID/stat from the state, the third one, on. The index of a field
// is its number in proc(5) less three. It returns none if the file cannot be read.
func StatFields(file string) []string {
	b, _ := os.ReadFile(file)
	i := strings.LastIndex(string(b), ") ") // the name may contain that, too
	return strings.Fields(string(b)[i+1:])
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

// Switches returns how often a thread has waited for something, or 0 if it has ended.
func Switches(id int) uint64 {
	n, _ := strconv.ParseUint(Status(id, "voluntary_ctxt_switches"), 10, 64)
	return n
}
