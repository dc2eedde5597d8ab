package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

// unpacked are the bundles that an invocation reads. They lie in temporary directories until it ends, also by a signal.
type unpacked struct {
	mu       sync.Mutex
	bySeries map[*series.Series]*bundle.Bundle
	dirs     []string
	signals  chan os.Signal
	dying    atomic.Bool // a signal has come: what fails now fails for want of the files
}

// openBundle unpacks the bundle among some paths; nil if there is none. One that comes by standard input is kept as a file first.
func (a *app) openBundle(paths []string) (*bundle.Bundle, error) {
	if len(paths) != 1 || paths[0] != "-" || a.in == nil {
		return a.unpacked.open(paths)
	}
	in := bufio.NewReader(a.in)
	a.in = in
	if head, _ := in.Peek(len(zstdMagic)); string(head) != zstdMagic {
		return nil, nil // what it is heapfile says
	}
	dir, err := a.unpacked.newDir()
	if err != nil {
		return nil, err
	}
	kept, err := os.OpenFile(filepath.Join(dir, "standard input"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(kept, in); err != nil {
		return nil, errors.Join(fmt.Errorf("standard input: cannot be kept: %w", err), kept.Close())
	}
	if bundle.Is(kept.Name()) {
		return bundle.Open(kept.Name(), dir)
	}
	_, err = kept.Seek(0, io.SeekStart)
	a.in = kept
	return nil, err
}

const zstdMagic = "\x28\xb5\x2f\xfd"

// open unpacks the bundle among some paths; nil if there is none. A bundle goes alone: what it holds names nothing else.
func (u *unpacked) open(paths []string) (*bundle.Bundle, error) {
	for _, p := range paths {
		if !bundle.Is(p) {
			continue
		}
		if len(paths) > 1 {
			return nil, fmt.Errorf("%s: a bundle cannot be read together with other PATHs", p)
		}
		dir, err := u.newDir()
		if err != nil {
			return nil, fmt.Errorf("%s: cannot be unpacked: %w", p, err)
		}
		return bundle.Open(p, dir)
	}
	return nil, nil
}

// newDir is a directory that goes with the invocation, known before there is anything in it.
func (u *unpacked) newDir() (string, error) {
	u.watchSignals()
	u.mu.Lock()
	defer u.mu.Unlock()
	dir, err := os.MkdirTemp("", "heaplapse-")
	if err == nil {
		u.dirs = append(u.dirs, dir)
	}
	return dir, err
}

// belongs notes that a series came out of a bundle.
func (u *unpacked) belongs(s *series.Series, b *bundle.Bundle) {
	if b == nil {
		return
	}
	if u.bySeries == nil {
		u.bySeries = map[*series.Series]*bundle.Bundle{}
	}
	u.bySeries[s] = b
}

// watchSignals removes what was unpacked when a signal ends the program.
func (u *unpacked) watchSignals() {
	if u.signals != nil {
		return
	}
	u.signals = make(chan os.Signal, 1)
	for _, s := range endingSignals() {
		signal.Notify(u.signals, s)
	}
	go func() {
		if s, ok := <-u.signals; ok {
			u.dying.Store(true)
			u.remove()
			dieBy(s)
		}
	}()
}

// endingSignals returns the signals that end the program, except those that its parent had it ignore, as nohup does.
func endingSignals() []os.Signal {
	return slices.DeleteFunc([]os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
}

// dieBy ends the program as if the signal had not been caught.
func dieBy(s os.Signal) {
	signal.Reset(s)
	if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(s) == nil {
		time.Sleep(time.Second) // until it arrives
	}
	os.Exit(exitFailure)
}

// close ends the watch and removes everything.
func (u *unpacked) close() {
	if u.signals != nil {
		signal.Stop(u.signals)
		close(u.signals)
	}
	if u.dying.Load() {
		select {} // the signal ends the program
	}
	u.remove()
}

// removals is how often a directory is removed to which files are still added.
const removals = 10

func (u *unpacked) remove() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, dir := range u.dirs {
		for range removals {
			if os.RemoveAll(dir) == nil {
				break
			}
		}
	}
	u.dirs = nil
}
