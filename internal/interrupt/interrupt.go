// Package interrupt decides what SIGINT, SIGTERM and SIGHUP do to a program. By default they end it
// as if they were not caught, after its temporary files are removed. Work that can end by itself
// has its context canceled instead.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// Handler handles the signals of one run of a program. The zero value does nothing until
// [Handler.Supervise] is called.
type Handler struct {
	caught  chan os.Signal
	orderly atomic.Bool
	ending  atomic.Bool
}

// Supervise runs a function and returns its result, an exit status. A signal calls cleanUp and ends
// the process by the same signal, unless [Handler.Orderly] was called before: then the first signal
// cancels the context, and only the second one ends the process.
func (h *Handler) Supervise(run func(context.Context) int, cleanUp func()) int {
	h.caught = make(chan os.Signal, 1)
	h.Start()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx) }()
	for {
		select {
		case status := <-ended:
			return status
		case s := <-h.caught:
			if h.orderly.Load() && ctx.Err() == nil {
				cancel()
				continue
			}
			h.ending.Store(true)
			cleanUp()
			return die(s)
		}
	}
}

// Orderly announces work that ends soon after its context is canceled.
func (h *Handler) Orderly() { h.orderly.Store(true) }

// Guard returns a writer to a file that blocks once a signal ends the process. What the program
// writes from then on may be wrong, because its temporary files are removed.
func (h *Handler) Guard(f *os.File) *Guarded { return &Guarded{f, h} }

// Guarded is the writer that [Handler.Guard] returns.
type Guarded struct {
	file    *os.File
	handler *Handler
}

// Write writes to the file.
func (g *Guarded) Write(b []byte) (int, error) {
	if g.handler.ending.Load() {
		select {}
	}
	return g.file.Write(b)
}

// Fd returns the descriptor of the file.
func (g *Guarded) Fd() uintptr { return g.file.Fd() }

// Stop gives the signals back their default actions, until Start is called.
func (h *Handler) Stop() {
	if h.caught != nil {
		signal.Stop(h.caught)
	}
}

// Start catches the signals, except those that the parent process has made this one ignore, as
// nohup does.
func (h *Handler) Start() {
	if h.caught == nil {
		return
	}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(h.caught, s)
		}
	}
}

// die ends the process by a signal. If that fails it returns an exit status.
func die(s os.Signal) int {
	signal.Reset(s)
	if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(s) == nil {
		time.Sleep(time.Second) // the signal may arrive later
	}
	return 128 + int(s.(syscall.Signal))
}
