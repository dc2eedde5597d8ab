package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// follower tells when the snapshots of a directory or a prefix have changed. The operating system's notices make it quick; it
// looks for itself now and then, for there are none of network file systems, and none of a directory that does not exist yet.
type follower struct {
	path string
	// settle is how long nothing must happen before it is worth looking; poll is how long it waits for a notice.
	settle, poll time.Duration

	notices *fsnotify.Watcher // nil where there are none to be had
	watched string
}

// Times of a follower.
const (
	settleTime = 200 * time.Millisecond
	pollTime   = 2 * time.Second
	// settleLimit bounds the wait for quiet, in settle times: files may be written all the time.
	settleLimit = 10
)

func newFollower(path string) *follower {
	f := &follower{path: path, settle: settleTime, poll: pollTime}
	f.notices, _ = fsnotify.NewWatcher() // without one it polls
	return f
}

func (f *follower) close() {
	if f.notices != nil {
		_ = f.notices.Close()
	}
}

// dir is the directory where the snapshots are, or will be.
func (f *follower) dir() string {
	if info, err := os.Stat(f.path); err == nil && info.IsDir() {
		return f.path
	}
	return filepath.Dir(f.path)
}

// state is a description of all files that matter: it changes with them. It is "" where there are none.
func (f *follower) state() string {
	dir := f.dir()
	if f.notices != nil && dir != f.watched && f.notices.Add(dir) == nil {
		f.watched = dir
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		f.watched = "" // it may come back as another
		return ""
	}
	var b strings.Builder
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(series.TrimCompression(name), ".heap") && name != manifest.Name {
			continue
		}
		if info, err := e.Info(); err == nil {
			fmt.Fprintf(&b, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// next waits until the state is another one and returns it; ok is false if the context was done before. idle is called each
// second in between.
func (f *follower) next(ctx context.Context, known string, idle func()) (state string, ok bool) {
	tick := time.NewTicker(min(time.Second, cmp.Or(f.poll, time.Second)))
	defer tick.Stop()
	for {
		if state := f.state(); state != known {
			return f.settled(ctx, state)
		}
		looked := time.Now()
		for noticed := false; !noticed && time.Since(looked) < f.poll; {
			select {
			case <-ctx.Done():
				return known, false
			case <-f.events():
				noticed = true
				pause(ctx, f.settle) // in a busy directory there is always something
				f.drain()
			case err := <-f.errors():
				noticed = err != nil // there were too many to be told of
			case <-tick.C:
				idle()
			}
		}
	}
}

// settled waits until nothing happens for a while, or for long enough.
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

// drain drops notices of what has been looked at.
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
	if f.notices == nil {
		return nil
	}
	return f.notices.Events
}

func (f *follower) errors() <-chan error {
	if f.notices == nil {
		return nil
	}
	return f.notices.Errors
}
