//go:build linux

package roots

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// KernelWords returns the words that the kernel keeps for a process: the data of epoll_ctl(2) and the values of
// timer_create(2).
func KernelWords(pid int) (list []uint64) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	files, _ := os.ReadDir(dir + "fdinfo")
	for _, f := range files {
		b, _ := os.ReadFile(dir + "fdinfo/" + f.Name())
		list = append(list, epollWords(string(b))...)
	}
	b, _ := os.ReadFile(dir + "timers")
	return append(list, timerWords(string(b))...)
}

// HasRing reports whether a process uses io_uring(7): the kernel does not tell the words that it keeps for requests.
func HasRing(pid int) bool {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	files, _ := os.ReadDir(dir)
	return slices.ContainsFunc(files, func(f os.DirEntry) bool {
		name, _ := os.Readlink(dir + f.Name())
		return name == "anon_inode:[io_uring]"
	})
}

// epollWords reads lines like
//
//	tfd:        4 events:       19 data:     55d0c8f2a2a0  pos:0 ino:3b6 sdev:e
func epollWords(text string) (list []uint64) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if i := slices.Index(f, "data:"); i >= 0 && i+1 < len(f) && f[0] == "tfd:" {
			if v, err := strconv.ParseUint(f[i+1], 16, 64); err == nil {
				list = append(list, v)
			}
		}
	}
	return list
}

// timerWords reads lines like
//
//	signal: 60/00007fff86e452a8
func timerWords(text string) (list []uint64) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "signal:"); ok {
			_, value, _ := strings.Cut(rest, "/")
			if v, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err == nil {
				list = append(list, v)
			}
		}
	}
	return list
}

// StreamBuffers returns the buffers of the streams of stdio.h. They have text, and what the memory had
// before. list is the address of _IO_list_all in the C library.
func StreamBuffers(memory blocks.Memory, list uint64) (buffers []blocks.Range) {
	const base, end, next, most = 56, 64, 104, 1 << 12 // in struct _IO_FILE
	words := blocks.Window{Memory: memory, Within: blocks.Range{End: 1 << 47}}
	at, ok := words.Word(list)
	for n := 0; ok && at != 0 && n < most; n++ {
		start, ok1 := words.Word(at + base)
		stop, ok2 := words.Word(at + end)
		if ok1 && ok2 && start != 0 && start < stop {
			buffers = append(buffers, blocks.Range{Start: start, End: stop})
		}
		at, ok = words.Word(at + next)
	}
	slices.SortFunc(buffers, byStart)
	return buffers
}
