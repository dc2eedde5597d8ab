package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a bar on standard error: for work of more than a second, and only on a terminal.
type progress struct {
	w     io.Writer
	what  string
	start time.Time
	bar   *progressbar.ProgressBar
}

// newProgress returns nil, which is silent, where the writer is no terminal.
func newProgress(w io.Writer, what string) *progress {
	if !isTerminal(w) {
		return nil
	}
	return &progress{w: w, what: what, start: time.Now()}
}

func (p *progress) update(done, all int) {
	if p == nil || time.Since(p.start) < time.Second {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(all, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.what),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
	_ = p.bar.Set(done) // what cannot be shown is not worth an error
}

// done removes the bar.
func (p *progress) done() {
	if p != nil && p.bar != nil {
		_ = p.bar.Finish()
	}
}
