// Package baselines has the command baseline, which keeps summaries of good runs for gate.
package baselines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/console"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
	"github.com/heaplapse/heaplapse/internal/report/listing"
)

// Command returns the command baseline with its subcommands.
func Command(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "keep compact summaries of good runs, for gate",
		Long: `Keeps summaries of good runs, which gate compares later runs with. A summary has at most a few
hundred KiB and contains names instead of addresses, so gate needs neither the snapshots nor the
program of the earlier run. A directory of summaries is a baseline set.

  heaplapse baseline save baselines/ last-night/
  heaplapse gate --baseline baselines/ --current tonight/`,
		Args: help.Subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(saveCommand(c), listCommand(c), pruneCommand(c), pinCommand())
	return cmd
}

type saveFlags struct {
	flagset.Run
	pin bool
}

func saveCommand(c *console.Console) *cobra.Command {
	var f saveFlags
	cmd := &cobra.Command{
		Use:   "save DIR PATH…",
		Short: "add the summary of a run to a baseline set",
		Long: `Summarizes the snapshots at PATH, adds the summary to DIR as one file, and prints its path. DIR is
created if necessary. The file appears whole: other processes may read DIR meanwhile.

  heaplapse baseline save baselines/ tonight/ --label commit=$(git rev-parse HEAD)`,
		Args: help.Between(2, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.save(cmd.Context(), c, args[0], args[1:])
		},
	}
	help.Group(cmd, help.Set, func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&f.Labels, "label", nil, "keep `KEY=VALUE` with the run, such as a commit (repeatable)")
		flags.BoolVar(&f.pin, "pin", false, "make the run the reference run: slow drift is measured against it, and prune keeps it")
	})
	f.Run.Add(cmd)
	help.Levels(cmd, "label pin workload work process strict",
		"blame-rules snapshots max-memory binary sysroot debug-dir debuginfod perf-map no-cache")
	return cmd
}

func (f *saveFlags) save(ctx context.Context, c *console.Console, dir string, paths []string) error {
	if _, err := os.Stat(filepath.Join(dir, manifest.Name)); err == nil {
		return fmt.Errorf("%s holds a recording, not baselines: the command is heaplapse baseline save DIR PATH…", dir)
	}
	o, err := f.Summary()
	if err != nil {
		return err
	}
	run, err := c.Pipeline().Summarize(ctx, paths, o)
	if err != nil {
		return err
	}
	if c.Failed {
		return errors.New("nothing was saved: see the errors above")
	}
	if !run.Meta.Steady() { // with such a run in the set, gate would fail every night
		reason := gatereport.TooFewSnapshots(run.Meta.Snapshots, baseline.LeastSnapshots)
		return fmt.Errorf("%s: %s; nothing was saved", run.Meta.Name, reason)
	}
	if f := run.Meta.Failure; f != "" {
		c.Warn(gatereport.FailedRun(run.Meta.Name, f))
	}
	warnOtherMethod(c, dir, &run.Meta)
	path, err := baseline.Save(dir, run, time.Now())
	if err != nil {
		return err
	}
	if f.pin {
		if err := baseline.Pin(dir, path); err != nil {
			return err
		}
	}
	return output.Lines(c.Out, path)
}

// warnOtherMethod warns if a run of the set was recorded in another way than the one that is added.
func warnOtherMethod(c *console.Console, dir string, added *baseline.Meta) {
	set, err := baseline.Open(dir)
	if err != nil { // it does not exist yet, or Save tells
		return
	}
	for _, e := range set.Entries {
		if m := &e.Run.Meta; m.OtherMethod(added) {
			c.Warn(gatereport.OtherMethod(m, added))
			return
		}
	}
}

func listCommand(c *console.Console) *cobra.Command {
	var f output.Flags
	cmd := &cobra.Command{
		Use:   "list DIR",
		Short: "list the runs of a baseline set, the oldest first",
		Long: `Lists the runs of a baseline set, the oldest first, with their size, workload and labels.

  heaplapse baseline list baselines/`,
		Args: help.Between(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := open(c, args[0])
			if err != nil {
				return err
			}
			return f.Render(c.Out, &listing.Baselines{Set: set})
		},
	}
	f.Add(cmd, "text", "json")
	return cmd
}

// open reads a baseline set and reports which of its files cannot be read.
func open(c *console.Console, dir string) (*baseline.Set, error) {
	set, err := baseline.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s does not exist: heaplapse baseline save %[1]s PATH makes it", dir)
	}
	if err != nil {
		return nil, err
	}
	for _, problem := range set.Problems {
		c.Tell(pipeline.Notice{Kind: pipeline.UnusableFile, Severity: pipeline.Failure, Text: problem.Error()})
	}
	return set, nil
}

func pruneCommand(c *console.Console) *cobra.Command {
	var keep int
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "prune DIR",
		Short: "remove the oldest runs of a baseline set",
		Long: `Keeps the newest runs and the reference run, and prints the paths of the files that it removes.
Files that cannot be read are reported, but neither counted nor removed.

  heaplapse baseline prune baselines/ --keep 30 --dry-run`,
		Args: help.Between(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return prune(c, args[0], keep, dryRun) },
	}
	help.Group(cmd, help.Set, func(flags *pflag.FlagSet) {
		flags.IntVar(&keep, "keep", 14, "keep the newest `N` runs")
		flags.BoolVar(&dryRun, "dry-run", false, "print what would be removed, and remove nothing")
	})
	return cmd
}

func prune(c *console.Console, dir string, keep int, dryRun bool) error {
	if keep < 1 {
		return fmt.Errorf("--keep %d: want 1 or more", keep)
	}
	set, err := open(c, dir)
	if err != nil {
		return err
	}
	old := set.Old(keep)
	removed := make([]string, len(old))
	for i, e := range old {
		removed[i] = e.Path
	}
	if !dryRun {
		removed, err = set.Prune(old)
	}
	return errors.Join(output.Lines(c.Out, removed...), err)
}

func pinCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pin DIR NAME",
		Short: "make a run of a baseline set the reference run",
		Long: `Makes a run the reference run, which slow drift is measured against. NAME is the name that
baseline list prints, or the path of the file. The previous reference run becomes a normal one.

  heaplapse baseline pin baselines/ NAME`,
		Args: help.Between(2, 2),
		RunE: func(_ *cobra.Command, args []string) error { return pin(args[0], args[1]) },
	}
}

func pin(dir, name string) error {
	err := baseline.Pin(dir, name)
	if errors.Is(err, baseline.ErrNotFound) {
		return fmt.Errorf("%w; heaplapse baseline list %s shows the names", err, dir)
	}
	return err
}
