//go:build linux && amd64

// Attach attaches to a process and detaches after a time, as heaplapse attach does, and prints for
// how long a thread was stopped. It is run by ../attach.sh.
//
// Usage: attach PID DIR HOLD [COUNTERS]
//
// HOLD is the time for which it records. COUNTERS is a file of 64-bit numbers that the threads of
// the process count up. What they count while one thread is stopped is printed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach"
	"github.com/heaplapse/heaplapse/internal/record/channel"
)

// result is what is printed, as a line of JSON.
type result struct {
	Pause   float64  `json:"pause"`   // ms for which the borrowed thread was stopped
	Longest float64  `json:"longest"` // ms for which any thread was stopped
	Looks   int      `json:"looks"`   // threads stopped
	Counted []uint64 `json:"counted"` // what each thread counted meanwhile
}

func main() {
	r, err := run(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attach:", err)
		os.Exit(1)
	}
}

func run(args []string) (r result, err error) {
	if len(args) < 3 {
		return r, errors.New("usage: attach PID DIR HOLD [COUNTERS]")
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return r, err
	}
	hold, err := time.ParseDuration(args[2])
	if err != nil {
		return r, err
	}
	var c counters
	if len(args) > 3 {
		if c, err = open(args[3]); err != nil {
			return r, err
		}
	}
	receiver, err := channel.Open(filepath.Join(args[1], "p"))
	if err != nil {
		return r, err
	}
	defer func() { _ = receiver.Close() }()
	s, err := attach.Start(context.Background(), attach.Options{
		PID: pid, Patience: 5 * time.Second, Step: c.step,
		Settings: "period=131072 every=0 part=0 alloc=0 inuse=0 signal=0 children=0 python=1 mmap=1", Adopt: receiver.Adopt,
	})
	if err != nil {
		return r, err
	}
	time.Sleep(hold)
	sum, err := s.Stop()
	if err == nil && sum.Left != 0 {
		err = fmt.Errorf("%d functions were not put back", sum.Left)
	}
	const ms = float64(time.Millisecond)
	return result{float64(s.Pause) / ms, float64(max(s.Pause, s.Longest)) / ms, s.Looks, c.counted}, err
}

// counters is a file of numbers that the threads of a process count up.
type counters struct {
	now, before, counted []uint64
}

func open(path string) (c counters, err error) {
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return c, err
	}
	const size = 8
	b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return c, err
	}
	n := len(b) / size
	c.now, c.before, c.counted = unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), n), make([]uint64, n), make([]uint64, n)
	return c, nil
}

// step is called before each step of attaching: the first that is made in a thread that stays
// stopped until the helper exists is to read its vectors, the last to detach from it.
func (c *counters) step(name string) {
	switch name {
	case "read vectors":
		copy(c.before, c.now)
	case "detach":
		for i, n := range c.now {
			c.counted[i] = n - c.before[i]
		}
	}
}
