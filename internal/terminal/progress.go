package terminal

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress is a bar for work that takes more than a second. A nil one shows nothing.
type Progress struct {
	w     io.Writer
	what  string
	start time.Time
	bar   *progressbar.ProgressBar
}

// NewProgress returns nil if the writer is not a terminal.
func NewProgress(w io.Writer, what string) *Progress {
	if !Is(w) {
		return nil
	}
	return &Progress{w: w, what: what, start: time.Now()}
}

// Update shows how much of the work is done.
func (p *Progress) Update(done, all int) {
	if p == nil || time.Since(p.start) < time.Second {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(all, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.what),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
	_ = p.bar.Set(done) // a bar that cannot be shown is not worth an error
}

// Done removes the bar.
func (p *Progress) Done() {
	if p != nil && p.bar != nil {
		_ = p.bar.Finish()
	}
}
