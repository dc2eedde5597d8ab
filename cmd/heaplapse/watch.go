package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
)

func (a *app) watchCommand() *cobra.Command {
	var f growthFlags
	var once bool
	var least int
	cmd := &cobra.Command{
		Use:   "watch DIR",
		Short: "growth, live, while the process still writes",
		Long: `Judges a series again whenever a snapshot is added: a screen that is redrawn in place on a terminal, one line for
each change elsewhere. DIR is a directory or a prefix; one without snapshots, or that does not exist yet, is waited for. A file
that is only half written is not taken. It ends with the recording, where a recorder says that it ended, and on ^C.

  heaplapse watch /tmp/heap
  heaplapse watch /tmp/heap --fail-on leak    # ends with status 1 as soon as a leak is called
  heaplapse watch /tmp/heap --once            # what growth prints`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if once {
				return a.growth(cmd.Context(), &f, paths)
			}
			return a.watch(cmd.Context(), &f, paths[0], least)
		},
	}
	f.add(a, cmd)
	cmd.Flags().IntVar(&least, "min-snapshots", trend.MinPoints, "under --fail-on, believe in a leak once there are `N` snapshots: early verdicts are less sure")
	cmd.Flags().BoolVar(&once, "once", false, "print the table once and end, as growth does")
	return cmd
}

// watch shows a series until it ends, a signal comes, or a leak is found by one who asked to fail on it.
func (a *app) watch(ctx context.Context, f *growthFlags, path string, least int) error {
	if a.format != "text" || a.output != "" {
		return errors.New("watch: --format and -o need --once")
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() || path == "-" {
		return fmt.Errorf("watch takes a directory or a prefix, and %s is neither", path)
	}
	if _, _, err := f.growthOptions(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second ^C does not wait for what is being read
	w := &watch{app: a, flags: f, follow: newFollower(path), least: least, told: map[string]bool{}}
	defer w.follow.close()
	if w.screen = newTerminal(a.out, os.Getenv); w.screen != nil {
		if err := w.screen.enter(); err != nil {
			return err
		}
	}
	err := w.run(ctx)
	if w.screen != nil {
		err = errors.Join(err, w.screen.leave())
	}
	w.tell()
	if w.last != nil {
		err = errors.Join(err, w.conclude())
	}
	return err
}

// watch is one invocation of the command.
type watch struct {
	app    *app
	flags  *growthFlags
	follow *follower
	least  int       // snapshots that it takes to fail on a leak
	screen *terminal // nil where the output is none

	last     *growthreport.Live // what was judged last; its series is closed
	warnings []string
	told     map[string]bool // warnings that were printed
	line     string          // what the last line was about
	ended    bool            // as opposed to interrupted
	gone     bool            // what was judged is there no more
}

// run goes on until there is no more to come.
func (w *watch) run(ctx context.Context) error {
	state := ""
	w.wait()
	for {
		next, ok := w.follow.next(ctx, state, w.redraw)
		if !ok {
			return nil
		}
		state = next
		start := time.Now()
		done, err := w.refresh(context.WithoutCancel(ctx), start) // the first ^C lets it finish
		if err != nil || done {
			w.ended = done
			return err
		}
		pause(ctx, time.Since(start)) // as long as that took: a large series must not take all of a processor
	}
}

// pause waits, but not beyond the end of the context.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// refresh reads and judges once, and says whether that was the last time.
func (w *watch) refresh(ctx context.Context, start time.Time) (done bool, err error) {
	var warnings bytes.Buffer
	reader := &app{streams: streams{in: w.app.in, out: w.app.out, err: &warnings}, verbose: w.app.verbose, live: true}
	defer reader.unpacked.close()
	g, err := reader.grown(ctx, w.flags, []string{w.follow.path})
	if errors.Is(err, series.ErrNoSnapshots) {
		w.gone = w.last != nil
		w.wait()
		return false, nil
	}
	w.gone = false
	w.warnings = nonEmptyLines(warnings.String())
	if err != nil {
		return false, w.failed(err)
	}
	defer g.Series.Close()
	if g.Series.Heads[0].Completeness.Unfinished && len(g.Series.Heads) == 1 {
		return false, nil // it is still being written
	}
	w.last = &growthreport.Live{Report: g, Path: w.follow.path, Took: time.Since(start), Warnings: len(w.warnings)}
	if err := w.show(); err != nil {
		return false, err
	}
	return w.found() || over(g.Series), nil
}

// failed decides on an error: one of the only snapshot there is may be gone once that is whole.
func (w *watch) failed(err error) error {
	var syntax *heapfile.SyntaxError
	var format *heapfile.FormatError
	if w.last == nil && (errors.As(err, &syntax) || errors.As(err, &format)) {
		w.warnings = append(w.warnings, "heaplapse: warning: "+err.Error())
		return nil
	}
	return err
}

// over says that no more snapshots will come.
func over(s *series.Series) bool {
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

// found says whether what the user wants to fail on is there.
func (w *watch) found() bool {
	if len(w.last.Series.Heads) < w.least {
		return false
	}
	judge := &app{streams: streams{err: &bytes.Buffer{}}}
	judge.judge(w.flags.failOn, w.last.Result)
	return judge.status == exitFound
}

// show puts the moment on the screen, or on a line.
func (w *watch) show() error {
	if w.screen != nil {
		return w.draw()
	}
	w.tell()
	heads := w.last.Series.Heads
	about := fmt.Sprintf("%d %s %s", len(heads), heads[len(heads)-1].Path, w.last.Result.Verdict)
	if about == w.line {
		return nil // a file grows that is not whole yet
	}
	w.line = about
	_, err := fmt.Fprintln(w.app.out, w.last.Line())
	return err
}

func (w *watch) draw() error {
	width, height := w.screen.size()
	lines, err := w.last.Screen(width, height, time.Now())
	if err != nil {
		return err
	}
	return w.screen.draw(lines)
}

// redraw is for the age of the last snapshot, and for a terminal whose size has changed.
func (w *watch) redraw() {
	switch {
	case w.screen == nil:
	case w.last == nil || w.gone:
		w.wait()
	default:
		_ = w.draw() // the next refresh tells
	}
}

// wait says that there is nothing yet.
func (w *watch) wait() {
	text := "waiting for snapshots in " + w.follow.path
	if w.gone {
		text = "the snapshots are gone: " + text
	}
	if w.screen == nil {
		w.app.say("%s", text)
		return
	}
	_ = w.screen.draw([]growthreport.ScreenLine{{Text: text, Style: growthreport.StyleFaint}}) // the first refresh tells
}

// tell prints the warnings that are new: those that differ in more than their numbers.
func (w *watch) tell() {
	for _, line := range w.warnings {
		about := numbers.ReplaceAllString(line, "#")
		if !w.told[about] && !w.app.quiet {
			fmt.Fprintln(w.app.err, line)
		}
		w.told[about] = true
	}
}

var numbers = regexp.MustCompile("[0-9.]+")

// conclude sets the exit status, and leaves on a terminal what the screen has shown.
func (w *watch) conclude() error {
	if w.found() || w.ended {
		w.app.judge(w.flags.failOn, w.last.Result)
	}
	if w.screen == nil {
		return nil
	}
	return w.last.Text(w.app.out)
}

func nonEmptyLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
