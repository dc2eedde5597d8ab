package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/diff/baseline"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
	"github.com/heaplapse/heaplapse/internal/report/listing"
)

func (a *app) baselineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline save|list|prune|pin DIR",
		Short: "compact summaries of good runs, for gate",
		Long: `Keeps what is to be compared with later: of a run of any number of snapshots a few hundred KiB, with names
instead of addresses. Neither the snapshots nor the program are needed then.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.baselineSaveCommand(), a.baselineListCommand(), a.baselinePruneCommand(), a.baselinePinCommand())
	return cmd
}

type saveFlags struct {
	summaryFlags
	pin bool
}

func (a *app) baselineSaveCommand() *cobra.Command {
	var f saveFlags
	cmd := &cobra.Command{
		Use:   "save DIR PATH…",
		Short: "add the summary of a run to a directory",
		Long: `Sums up the snapshots at PATH, adds the result to DIR as one file, and prints its path. DIR is made if need be. The
file appears whole; whoever reads DIR meanwhile is not disturbed.

  heaplapse baseline save pool/ tonight/ --label commit=$(git rev-parse HEAD)`,
		Args: usageArgs(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.baselineSave(cmd.Context(), &f, args[0], args[1:])
		},
	}
	f.add(a, cmd)
	cmd.Flags().StringArrayVar(&f.labels, "label", nil, "keep `KEY=VALUE` with the run, such as a commit (repeatable)")
	cmd.Flags().BoolVar(&f.pin, "pin", false, "pin it: slow drift is measured against it, and prune never removes it")
	return cmd
}

func (a *app) baselineSave(ctx context.Context, f *saveFlags, dir string, paths []string) error {
	run, err := f.summarize(ctx, a, paths)
	if err != nil {
		return err
	}
	if a.status == exitFailure {
		return errors.New("nothing was saved: see the errors above")
	}
	if !run.Meta.Steady() { // with one such run in the set, the gate would fail every night
		reason := gatereport.TooFewSnapshots(run.Meta.Snapshots, baseline.LeastSnapshots)
		return fmt.Errorf("%s: %s; nothing was saved", run.Meta.Name, reason)
	}
	path, err := baseline.Save(dir, run, time.Now())
	if err != nil {
		return err
	}
	if f.pin {
		if err := baseline.Pin(dir, path); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(a.out, path)
	return err
}

func (a *app) baselineListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list DIR",
		Short: "the runs in a directory, the oldest first",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.checkFormat(); err != nil {
				return err
			}
			pool, err := a.openPool(args[0])
			if err != nil {
				return err
			}
			return a.render(&listing.Baselines{Set: pool})
		},
	}
	a.outputFlags(cmd)
	return cmd
}

// openPool reads a directory of baselines, and reports what in it cannot be read.
func (a *app) openPool(dir string) (*baseline.Set, error) {
	pool, err := baseline.Open(dir)
	if err != nil {
		return nil, err
	}
	for _, problem := range pool.Problems {
		a.status = exitFailure
		a.complain(problem)
	}
	return pool, nil
}

func (a *app) baselinePruneCommand() *cobra.Command {
	var keep int
	var dry bool
	cmd := &cobra.Command{
		Use:   "prune DIR",
		Short: "remove the oldest runs from a directory",
		Long: `Keeps the last runs and the pinned one, and prints the paths of those that it removes. What cannot be read is reported,
and neither counted nor removed.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return a.baselinePrune(args[0], keep, dry) },
	}
	cmd.Flags().IntVar(&keep, "keep", 14, "keep the last `N` runs")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be removed, and leave it")
	return cmd
}

func (a *app) baselinePrune(dir string, keep int, dry bool) error {
	if keep < 1 {
		return fmt.Errorf("--keep %d: want 1 or more", keep)
	}
	pool, err := a.openPool(dir)
	if err != nil {
		return err
	}
	old := pool.Old(keep)
	removed := make([]string, len(old))
	for i, e := range old {
		removed[i] = e.Path
	}
	if !dry {
		removed, err = pool.Prune(old)
	}
	for _, path := range removed {
		if _, failed := fmt.Fprintln(a.out, path); failed != nil {
			return failed
		}
	}
	return err
}

func (a *app) baselinePinCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pin DIR NAME",
		Short: "make one run of a directory the one that slow drift is measured against",
		Long:  `NAME is as list shows it, or the path of the file. The run that was pinned before is not any more.`,
		Args:  usageArgs(cobra.ExactArgs(2)),
		RunE:  func(_ *cobra.Command, args []string) error { return baselinePin(args[0], args[1]) },
	}
}

func baselinePin(dir, name string) error {
	err := baseline.Pin(dir, name)
	if errors.Is(err, baseline.ErrNotFound) {
		return fmt.Errorf("%w; heaplapse baseline list %s shows the names", err, dir)
	}
	return err
}
