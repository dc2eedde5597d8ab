// Package watch judges a series of snapshots again whenever one is added, and shows the result: as
// a screen that is redrawn in place, or as one line for each change.
//
// The caller opens, names and judges the series, and returns the result with the notices for the
// user. The same notice is reported once, however often the series is read.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/live"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

// Notice is a problem of the input that does not prevent a verdict.
type Notice struct {
	// Key is equal for two notices of the same problem, whose texts may differ in numbers.
	Key  string
	Text string
	// Doubtful reports whether the verdict may be wrong because of the problem.
	Doubtful bool
}

// Options are what is watched and where it is shown. All but Screen and Stop are required.
type Options struct {
	// Path is a directory or a prefix. It need not exist yet. Of a directory that has no snapshots,
	// but recordings below it, the one that started last is watched, and the next one after it.
	Path string
	// Judge opens the series at a path, names its addresses and judges it. The caller of Judge
	// closes the report. The notices count also if there is an error.
	Judge func(ctx context.Context, path string) (*growth.Report, []Notice, error)
	// Stop reports whether a result ends the watch.
	Stop func(*growth.Report) bool
	// Out is for lines, Screen for screens: without it the results are lines.
	Out    io.Writer
	Screen *terminal.Screen
	// Tell is called with each new notice, Status with what the watch waits for.
	Tell   func(Notice)
	Status func(text string)
}

// Result is the end of a watch.
type Result struct {
	// Last is the last verdict; it may be nil. It is closed.
	Last *live.Report
	// Over is set if no more snapshots will come or Stop ended the watch, as opposed to the
	// context.
	Over bool
}

// Run watches until the recording has ended, Stop returns true, or the context is done. The end of
// a recording below Path is not the end: the program may be started again.
func Run(ctx context.Context, o Options) (Result, error) {
	w := &watch{Options: o, follow: newFollower(o.Path), reported: map[string]bool{}}
	defer w.follow.close()
	if w.Screen == nil {
		err := w.run(ctx)
		w.tell()
		return w.Result, err
	}
	if err := w.Screen.Open(); err != nil {
		return w.Result, err
	}
	err := errors.Join(w.run(ctx), w.Screen.Close())
	w.tell() // the screen would have hidden it
	return w.Result, err
}

// watch is the state of [Run].
type watch struct {
	Options
	Result

	follow   *follower
	path     string          // Path, or the recording below it
	notices  []Notice        // of the last reading
	reported map[string]bool // keys
	line     string          // what the last line was about
	gone     bool            // the snapshots of the last verdict do not exist any more
}

func (w *watch) run(ctx context.Context) error {
	state := ""
	w.wait()
	for {
		next, ok := w.follow.next(ctx, state, w.redraw)
		if !ok {
			return nil
		}
		state = next
		w.move()
		start := time.Now()
		if err := w.refresh(ctx, start); err != nil || w.Over {
			return err
		}
		sleep(ctx, time.Since(start)) // uses at most half of a processor
	}
}

// move turns to the recording that the follower has found.
func (w *watch) move() {
	if w.path == w.follow.target {
		return
	}
	if w.path != "" {
		w.tell() // notices of the one before
	}
	w.path, w.Last, w.gone = w.follow.target, nil, false
	if w.path != w.Path && w.Screen == nil {
		w.Status("watching " + w.path)
	}
}

// refresh reads and judges the series, and decides whether that was the last time.
func (w *watch) refresh(ctx context.Context, start time.Time) error {
	g, notices, err := w.Judge(ctx, w.path)
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil
	case errors.Is(err, series.ErrNoSnapshots):
		w.gone = w.Last != nil
		w.wait()
		return nil
	}
	w.gone, w.notices = false, notices
	if err != nil {
		return w.failed(err)
	}
	defer g.Close()
	if len(g.Series.Heads) == 1 && g.Series.Heads[0].Completeness.Unfinished {
		return nil // it is still being written
	}
	now := &live.Report{Report: g, Path: w.path, Took: time.Since(start), Warnings: len(notices)}
	now.KeepFirst(w.Last)
	w.Last = now
	w.Over = w.Stop != nil && w.Stop(g) || w.path == w.Path && ended(g.Series)
	return w.show()
}

// failed returns an error that ends the watch. A malformed file may be the first snapshot, half
// written.
func (w *watch) failed(err error) error {
	var syntax *heapfile.SyntaxError
	var format *heapfile.FormatError
	if w.Last == nil && (errors.As(err, &syntax) || errors.As(err, &format)) {
		w.notices = append(w.notices, Notice{Key: "malformed", Text: err.Error()})
		return nil
	}
	return err
}

// ended reports whether no more snapshots will come: the recording or all of its processes have
// ended.
func ended(s *series.Series) bool {
	if s.RecordingEnd() != nil {
		return true
	}
	if s.Process.End == nil {
		return false
	}
	for _, p := range s.Others {
		if p.End == nil {
			return false
		}
	}
	return true
}

// show draws the verdict, or prints it if it has changed.
func (w *watch) show() error {
	if w.Screen != nil {
		return w.draw()
	}
	w.tell()
	heads := w.Last.Series.Heads
	about := fmt.Sprintf("%d %s %s", len(heads), heads[len(heads)-1].Path, w.Last.Result.Verdict)
	if about == w.line {
		return nil // another file grows that is not whole yet
	}
	w.line = about
	_, err := fmt.Fprintln(w.Out, w.Last.Line())
	return err
}

// renditions are the renditions of report's styles.
var renditions = map[live.Style]string{
	live.StyleFaint: "2", live.StyleStrong: "1",
	live.StyleLeak: "1;31", live.StyleNoLeak: "1;32", live.StyleUndecided: "1;33",
}

func (w *watch) draw() error {
	width, height := w.Screen.Size()
	styled := w.Last.Screen(width, height, time.Now())
	lines := make([]terminal.Line, len(styled))
	for i, l := range styled {
		lines[i] = terminal.Line{Text: text.Fitted(l.Text, 0, w.Screen.UTF8()), Rendition: renditions[l.Style]}
	}
	return w.Screen.Draw(lines)
}

// redraw updates the age of the last snapshot and fits a terminal whose size has changed.
func (w *watch) redraw() {
	switch {
	case w.Screen == nil:
	case w.Last == nil || w.gone:
		w.wait()
	default:
		_ = w.draw() // the next refresh returns the error
	}
}

// wait shows that there are no snapshots.
func (w *watch) wait() {
	status := "waiting for snapshots in " + w.Path
	if w.gone {
		status = "the snapshots are gone: " + status
	}
	if w.Screen == nil {
		w.Status(status)
		return
	}
	_ = w.Screen.Draw(
		[]terminal.Line{{Text: status, Rendition: renditions[live.StyleFaint]}},
	) // the next refresh returns the error
}

// tell reports the notices that were not reported before.
func (w *watch) tell() {
	for _, n := range w.notices {
		if !w.reported[n.Key] {
			w.reported[n.Key] = true
			w.Tell(n)
		}
	}
}
