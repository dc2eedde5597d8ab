package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/diff/compare"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	diffreport "github.com/heaplapse/heaplapse/internal/report/diff"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

type diffFlags struct {
	stackFlags
	groupFlags
	baseBinary, baseSysroot string
	limit                   int
	persist                 bool
}

func (a *app) diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff BASE CURRENT",
		Short: "two snapshots, site by site",
		Long: `Compares two snapshots, of one process or of different ones, also of different builds. Of a series its
last snapshot counts. Sites are matched by build ID and offset, else by names; how sure a match is, is said.
Σ of the differences is the difference of the totals; what a truncated snapshot hides is shown as a bound.

  heaplapse diff p.0002.heap p.0024.heap
  heaplapse diff last-week/ today/
  heaplapse diff A B C --persist     what came between A and B and is still there in C`,
		Args: usageArgs(cobra.RangeArgs(2, 3)),
		RunE: func(cmd *cobra.Command, paths []string) error { return a.diff(cmd.Context(), &f, paths) },
	}
	f.stackFlags.add(a, cmd)
	f.groupFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.baseBinary, "base-binary", "", "like --binary, for BASE where it differs")
	flags.StringVar(&f.baseSysroot, "base-sysroot", "", "like --sysroot, for BASE where it differs")
	flags.IntVar(&f.limit, "top", 20, "show `N` sites")
	flags.BoolVar(&f.persist, "persist", false, "of three snapshots: what came between the first two and is still there in the third")
	a.outputFlags(cmd)
	return cmd
}

func (a *app) diff(ctx context.Context, f *diffFlags, paths []string) error {
	if err := a.checkFormat(); err != nil {
		return err
	}
	if f.persist && f.baseBinary+f.baseSysroot != "" {
		return errors.New("--persist compares snapshots of one process: --base-binary and --base-sysroot do not apply")
	}
	if f.persist != (len(paths) == 3) {
		return errors.New("diff takes two snapshots, or three with --persist")
	}
	o, err := f.compareOptions()
	if err != nil {
		return err
	}
	if f.persist {
		return a.diffPersist(ctx, f, paths, o)
	}
	current, err := f.side(ctx, a, paths[1])
	if err != nil {
		return err
	}
	defer current.Series.Close()
	base, err := f.base().side(ctx, a, paths[0])
	if err != nil {
		return err
	}
	defer base.Series.Close()
	if base.Empty() && current.Empty() {
		return errNothingKept
	}
	return a.render(&diffreport.Report{Comparison: compare.Snapshots(base, current, o), Options: siteview.Options{Top: f.limit, Rules: o.Rules, GroupBy: o.GroupBy}})
}

// errNothingKept is no result: an empty one would look like a clean bill of health.
var errNothingKept = errors.New("no stack is left: nothing matches --focus, or --ignore drops everything")

// base are the flags for the base.
func (f *diffFlags) base() *stackFlags {
	out := f.stackFlags
	if f.baseBinary != "" {
		out.binary = f.baseBinary
	}
	if f.baseSysroot != "" {
		out.sysroot = f.baseSysroot
	}
	return &out
}

// side reads the last snapshot of a PATH.
func (f *stackFlags) side(ctx context.Context, a *app, path string) (*compare.Side, error) {
	s, err := f.open(a, []string{path}, nil)
	if err != nil {
		return nil, err
	}
	var side *compare.Side
	symbols, filter, err := f.named(ctx, a, s)
	if err == nil {
		side, err = compare.NewSide(s, symbols, len(s.Heads)-1, filter)
	}
	if err != nil {
		s.Close()
	}
	return side, err
}

// diffPersist reads the three snapshots as one series.
func (a *app) diffPersist(ctx context.Context, f *diffFlags, paths []string, o compare.Options) error {
	s, err := f.open(a, paths, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if len(s.Heads) != 3 {
		return fmt.Errorf("--persist takes three snapshot files of one process; found: %d", len(s.Heads))
	}
	symbols, filter, err := f.named(ctx, a, s)
	if err != nil {
		return err
	}
	var moments [3]*compare.Side
	for i, path := range paths {
		index := slices.IndexFunc(s.Heads, func(h *series.Head) bool { return h.Path == path })
		if index < 0 {
			return fmt.Errorf("%s: --persist takes snapshot files, not directories or prefixes", path)
		}
		if moments[i], err = compare.NewSide(s, symbols, index, filter); err != nil {
			return err
		}
	}
	if moments[0].Empty() && moments[1].Empty() && moments[2].Empty() {
		return errNothingKept
	}
	p, err := compare.Persist(moments, o)
	if err != nil {
		return fmt.Errorf("--persist: %w", err)
	}
	return a.render(&diffreport.Persist{Persistence: p, Options: siteview.Options{Top: f.limit, Rules: o.Rules, GroupBy: o.GroupBy}})
}

// groupFlags decide what a row is, and whom an allocation is put down to.
type groupFlags struct {
	by, rules string
}

func (f *groupFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.by, "group-by", string(sites.ByFunction), "what is one site: function, stack, file or module")
	cmd.Flags().StringVar(&f.rules, "blame-rules", "", "a `FILE` of rules that come before the built-in ones: which frames are passed over")
	_ = cmd.RegisterFlagCompletionFunc("group-by", cobra.FixedCompletions([]string{"function", "stack", "file", "module"}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *groupFlags) groupBy() (sites.GroupBy, error) {
	if !slices.Contains(sites.GroupBys, sites.GroupBy(f.by)) {
		return "", fmt.Errorf("--group-by %s: want function, stack, file or module", f.by)
	}
	return sites.GroupBy(f.by), nil
}

func (f *groupFlags) compareOptions() (compare.Options, error) {
	by, err := f.groupBy()
	if err != nil {
		return compare.Options{}, err
	}
	rules, err := f.blameRules()
	return compare.Options{GroupBy: by, Rules: rules}, err
}

// blameRules are the built-in rules, after those of the user's file.
func (f *groupFlags) blameRules() (*class.Rules, error) {
	if f.rules == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.rules)
	if err != nil {
		return nil, fmt.Errorf("--blame-rules: %w", err)
	}
	rules, err := class.ParseRules(string(text), f.rules)
	if err != nil {
		return nil, fmt.Errorf("--blame-rules: %w", err)
	}
	return rules.Before(class.DefaultRules()), nil
}
