//go:build linux

package looks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders"
	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/record/collect"
)

// TestTimesOfLooks: the newest look is from the second half of the recording.
func TestTimesOfLooks(t *testing.T) {
	for every, want := range map[time.Duration][]time.Duration{
		0: {time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}, time.Minute: {time.Minute, 2 * time.Minute},
	} {
		l, at := Looks{Options: Options{Every: every}}, time.Duration(0)
		for _, w := range want {
			at = l.after(at)
			assert.Equal(t, w, at)
		}
	}
}

// TestTooLargeLater: the answer about a process that has become too large is old, and the user is told why.
func TestTooLargeLater(t *testing.T) {
	l, told := listen()
	large, small := os.Getpid(), os.Getppid()
	l.told[large] = &answer.Look{Time: time.Date(2026, 3, 2, 14, 7, 5, 0, time.Local)}
	l.told[small] = l.told[large]
	l.tooLarge(collect.Running{PID: large}, errors.New("it has 129 threads"))
	l.End()
	const want = "what holds the memory of process %d is told as it was at 14:07:05: since then, it has 129 threads"
	assert.Equal(t, []string{fmt.Sprintf(want, large)}, *told)
}

// TestNowWithoutCollector: the program is ended although the collector waits for a disk.
func TestNowWithoutCollector(t *testing.T) {
	c := collect.New(collect.Options{Prefix: filepath.Join(t.TempDir(), "program")}, nil)
	l := New(Options{})
	l.c.Store(c)
	done := make(chan struct{})
	go func() { defer close(done); l.Now(t.Context()) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("the end of the program waits for the collector")
	}
	go c.Run(nil)
	l.End()
	c.Stop()
}

// TestTooSlow: a copy that is removed before it has been read tells nothing, and the user is told why, unless another
// look has told something. The program may have ended meanwhile.
func TestTooSlow(t *testing.T) {
	c := collect.New(collect.Options{Prefix: filepath.Join(t.TempDir(), "sleep")}, nil)
	go c.Run(nil)
	defer c.Stop()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"first", "another", "ended"} {
		t.Run(name, func(t *testing.T) {
			program := exec.Command("sleep", "600")
			require.NoError(t, program.Start())
			end := sync.OnceFunc(func() { _, _ = program.Process.Kill(), program.Wait() })
			defer end()
			pid := program.Process.Pid
			l, told := listen()
			l.c.Store(c)
			if name == "another" {
				l.told[pid] = &answer.Look{}
			}
			one := &copied{Running: collect.Running{PID: pid}}
			require.Eventually(t, func() (ok bool) {
				var err error
				one.Copy, err = holders.Begin(pid, nil)
				return err == nil
			}, time.Minute, time.Millisecond)
			if name == "ended" {
				end()
			}
			l.finish(over, []*copied{one}, ask)
			l.End()
			if name == "another" {
				assert.Empty(t, *told)
				return
			}
			want := fmt.Sprintf("what holds the memory of process %d is not told: %v", pid, errUnread)
			assert.Equal(t, []string{want}, *told)
		})
	}
}

// listen returns looks, and what they will have told the user.
func listen() (*Looks, *[]string) {
	var told []string
	tell := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	return New(Options{Tell: tell}), &told
}

// TestFreedBeforeTheEnd: a program that has freed what most of its lines had, but for one, has the answers from before.
func TestFreedBeforeTheEnd(t *testing.T) {
	site := func(address answer.Address, live int, holder string) answer.Site {
		held := answer.Held{Looked: live, By: []answer.Holder{{Blocks: live, Name: holder}}}
		return answer.Site{Stack: []answer.Address{address}, Live: live, Held: held}
	}
	before := []answer.Site{site(1, 30, "tasks"), site(2, 30, "cache"), site(3, 30, "queue")}
	after := []answer.Site{site(2, 28, "cache still"), site(1, 10, "the rest"), site(4, 1, "new")}
	want := []answer.Site{after[0], before[0], after[2], before[2]}
	assert.Equal(t, want, withFreed(slices.Clone(after), before, 0.5))
	assert.Equal(t, after, withFreed(slices.Clone(after), before, 0))
}
