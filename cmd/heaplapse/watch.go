package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/terminal"
	"github.com/heaplapse/heaplapse/internal/watch"
)

type watchFlags struct {
	judgeFlags
	minSnapshots int
}

func (a *app) watchCommand() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch DIR",
		Short: "show what grows, live, while the program runs",
		Long: `Judges a series again whenever a snapshot is added. A terminal shows a screen that is redrawn in
place; other output gets one line for each change. DIR is a directory or a prefix; if it does not
exist yet or has no snapshots, watch waits. Files that are only half written are left out. watch
ends when the recording ends, if heaplapse record made it, and on ^C. If the recordings are in
directories of DIR, one for each start of the program, watch follows the newest one, and does not
end with it.

  heaplapse watch /tmp/heap
  heaplapse watch /tmp/heap --fail-on leak    # ends with status 1 as soon as there is a leak`,
		Args: help.Between(1, 1),
		RunE: func(cmd *cobra.Command, paths []string) error { return a.watch(cmd.Context(), &f, paths[0]) },
	}
	f.judgeFlags.add(cmd)
	f.addFailOn(cmd)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.Var(flagset.Number(&f.minSnapshots, verdict.MinPoints), "min-snapshots", "--fail-on waits for `N` snapshots: early verdicts are less certain")
	})
	help.Levels(
		cmd,
		"since group-by process focus min-bytes top fail-on min-snapshots",
		"until ignore suppressions memory-limit binary sysroot debuginfod",
	)
	return cmd
}

func (a *app) watch(ctx context.Context, f *watchFlags, path string) error {
	if path == "" { // most often a variable of a shell
		return errors.New("DIR is empty: name the directory that snapshots are written to")
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() || path == "-" {
		return fmt.Errorf("watch takes a directory or a prefix, and %s is neither: name the directory that snapshots are written to", path)
	}
	if _, err := os.ReadDir(path); errors.Is(err, fs.ErrPermission) {
		return err
	}
	if _, err := f.judgement(); err != nil {
		return err
	}
	a.signals.Orderly()
	screen := terminal.NewScreen(a.Out, os.Getenv)
	end, err := watch.Run(ctx, watch.Options{
		Path: path, Out: a.Out, Screen: screen,
		Judge: func(ctx context.Context, path string) (*growthreport.Report, []watch.Notice, error) {
			return a.judgeLive(ctx, f, path)
		},
		Stop: func(g *growthreport.Report) bool {
			return len(g.Series.Heads) >= f.minSnapshots && failsOn(f.failOn, g)
		},
		Tell:   a.tellLive,
		Status: func(text string) { a.Say("%s", text) },
	})
	if err != nil || end.Last == nil {
		return err
	}
	if end.Over {
		a.fail(f.failOn, end.Last.Report)
	}
	if screen != nil { // what the screen has shown stays on the terminal
		end.Last.Style.Width = terminal.Width(a.Out)
		return output.Text(a.Out, end.Last.Text)
	}
	return nil
}

// tellLive prints a notice about a series that is still being written.
func (a *app) tellLive(n watch.Notice) {
	if n.Doubtful {
		a.Doubt(n.Text)
	} else {
		a.Warn(n.Text)
	}
}

// judgeLive judges a series that is still being written.
func (a *app) judgeLive(ctx context.Context, f *watchFlags, path string) (*growthreport.Report, []watch.Notice, error) {
	var notices []watch.Notice
	p := a.Pipeline()
	p.Live, p.Progress = true, nil
	p.Tell = func(n pipeline.Notice) {
		notices = append(notices, watch.Notice{Key: n.Key(), Text: a.Words(n), Doubtful: n.Doubtful})
	}
	g, err := f.judge(ctx, p, []string{path})
	return g, notices, err
}
