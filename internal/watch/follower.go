package watch

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// follower waits until the snapshots of a directory or a prefix change. Notifications of the
// operating system make it quick. It also polls: network file systems send no notifications, and a
// directory that does not exist cannot be watched.
type follower struct {
	path   string
	target string // what the last state describes: path, or the newest recording below it
	// settle is how long the files must stay the same before they are read; poll is the longest
	// wait for a notification.
	settle, poll time.Duration

	notifications *fsnotify.Watcher // nil if the system has none
	watched       string
}

const (
	settleTime = 200 * time.Millisecond
	pollTime   = 2 * time.Second
	// settleLimit bounds the wait for unchanged files, in settle times: a program may write all the
	// time.
	settleLimit = 10
)

func newFollower(path string) *follower {
	f := &follower{path: path, settle: settleTime, poll: pollTime}
	f.notifications, _ = fsnotify.NewWatcher() // without one it polls
	return f
}

func (f *follower) close() {
	if f.notifications != nil {
		_ = f.notifications.Close()
	}
}

// dir returns the directory that has the snapshots, or will have them.
func (f *follower) dir() string {
	if info, err := os.Stat(f.target); err == nil && info.IsDir() {
		return f.target
	}
	return filepath.Dir(f.target)
}

// state describes the names, sizes and times of all snapshots and of the manifest. It is "" if
// there are none.
func (f *follower) state() string {
	f.target = newest(f.path)
	dir := f.dir()
	if f.notifications != nil && dir != f.watched && f.notifications.Add(dir) == nil {
		f.watched = dir
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		f.watched = "" // another directory may take its place
		return ""
	}
	var b strings.Builder
	for _, e := range entries {
		name := e.Name()
		if !filename.OfSnapshots(name) && name != manifest.Name {
			continue
		}
		if info, err := e.Info(); err == nil {
			fmt.Fprintf(&b, "%q %d %d\n", filepath.Join(dir, name), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// next waits until the state differs from a known one and returns it. It returns false if the
// context is done first. It calls idle every second while it waits.
func (f *follower) next(ctx context.Context, known string, idle func()) (state string, ok bool) {
	tick := time.NewTicker(min(time.Second, cmp.Or(f.poll, time.Second)))
	defer tick.Stop()
	for {
		if state := f.state(); state != known {
			return f.settled(ctx, state)
		}
		looked := time.Now()
		for changed := false; !changed && time.Since(looked) < f.poll; {
			select {
			case <-ctx.Done():
				return known, false
			case <-f.events():
				changed = true
				sleep(ctx, f.settle) // a busy directory sends many
				f.drain()
			case err := <-f.errors():
				changed = err != nil // notifications were lost
			case <-tick.C:
				idle()
			}
		}
	}
}

// settled waits until the state stays the same, but not for ever.
func (f *follower) settled(ctx context.Context, state string) (settled string, ok bool) {
	for range settleLimit {
		select {
		case <-ctx.Done():
			return state, false
		case <-time.After(f.settle):
		}
		f.drain()
		now := f.state()
		if now == state {
			break
		}
		state = now
	}
	return state, true
}

// drain drops the notifications that have come so far.
func (f *follower) drain() {
	for {
		select {
		case _, ok := <-f.events():
			if !ok {
				return
			}
		default:
			return
		}
	}
}

func (f *follower) events() <-chan fsnotify.Event {
	if f.notifications == nil {
		return nil
	}
	return f.notifications.Events
}

func (f *follower) errors() <-chan error {
	if f.notifications == nil {
		return nil
	}
	return f.notifications.Errors
}

// sleep waits, but not beyond the end of the context.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
