package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

// unpacked are the bundles that an invocation reads. They lie in temporary directories until it ends, also by a signal.
type unpacked struct {
	mu       sync.Mutex
	bySeries map[*heapfile.Series]*bundle.Bundle
	list     []*bundle.Bundle
	signals  chan os.Signal
}

// open unpacks the bundle among some paths; nil if there is none. A bundle goes alone: what it holds names nothing else.
func (u *unpacked) open(paths []string) (*bundle.Bundle, error) {
	for _, p := range paths {
		if !bundle.Is(p) {
			continue
		}
		if len(paths) > 1 {
			return nil, fmt.Errorf("%s: a bundle cannot be read together with other PATHs", p)
		}
		u.watchSignals()
		b, err := bundle.Open(p, "")
		if err != nil {
			return nil, err
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.list = append(u.list, b)
		return b, nil
	}
	return nil, nil
}

// belongs notes that a series came out of a bundle.
func (u *unpacked) belongs(s *heapfile.Series, b *bundle.Bundle) {
	if b == nil {
		return
	}
	if u.bySeries == nil {
		u.bySeries = map[*heapfile.Series]*bundle.Bundle{}
	}
	u.bySeries[s] = b
}

// watchSignals removes what was unpacked when a signal ends the program.
func (u *unpacked) watchSignals() {
	if u.signals != nil {
		return
	}
	u.signals = make(chan os.Signal, 1)
	signal.Notify(u.signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		s, ok := <-u.signals
		if !ok {
			return
		}
		u.remove()
		signal.Reset(s)
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Signal(s) // as if it had not been caught
		}
	}()
}

// close ends the watch and removes everything.
func (u *unpacked) close() {
	if u.signals != nil {
		signal.Stop(u.signals)
		close(u.signals)
	}
	u.remove()
}

func (u *unpacked) remove() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, b := range u.list {
		_ = b.Close() // in the directory for temporary files it is the system's to remove
	}
	u.list = nil
}
