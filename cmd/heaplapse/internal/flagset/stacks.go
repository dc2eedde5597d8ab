package flagset

import (
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// filter has the flags that select call paths.
type filter struct{ focus, ignore *regexp.Regexp }

func (f *filter) define(flags *pflag.FlagSet) {
	flags.Var(expression(&f.focus), "focus", "keep only stacks with a function, file or module that matches `REGEXP`")
	flags.Var(expression(&f.ignore), "ignore", "drop stacks with a function, file or module that matches `REGEXP`")
}

// Stacks has the flags of commands that read stacks: which snapshots, names and stacks.
type Stacks struct {
	Series
	Symbols
	filter
	// Ages is set before Add by commands that can leave young memory out.
	Ages bool

	olderThan, bornAfter time.Duration
}

// Add adds the flags.
func (f *Stacks) Add(cmd *cobra.Command) {
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		f.Series.Define(flags)
		f.filter.define(flags)
		if f.Ages {
			flags.Var(Time(&f.olderThan, 0), "older-than",
				"count only memory in use that was allocated more than `TIME` before the snapshot, like 10m")
			flags.Var(Time(&f.bornAfter, 0), "born-after",
				"count only memory in use that was allocated later than `TIME` after the first snapshot: not at the start")
		}
	})
	f.Symbols.Add(cmd)
}

// Source returns how snapshots are read and named, and which stacks count.
func (f *Stacks) Source() (*pipeline.Source, error) {
	o, err := f.Series.Source(&f.Symbols)
	if err != nil {
		return nil, err
	}
	o.Focus, o.Ignore = f.focus, f.ignore
	o.Ages.OlderThan, o.Ages.BornAfter = f.olderThan, f.bornAfter
	return o, nil
}

var groupings = NewChoice("group-by", "function", "stack", "file", "module")

// Grouping has the flags that tell what one site is, and which function an allocation is attributed
// to.
type Grouping struct{ by, rules string }

// Add adds the flags.
func (f *Grouping) Add(cmd *cobra.Command) {
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		groupings.Var(flags, &f.by, string(sites.ByFunction), "group allocations by `SITE`: "+groupings.String())
		f.DefineRules(flags)
	})
	groupings.Complete(cmd)
}

// DefineRules adds --blame-rules to a set.
func (f *Grouping) DefineRules(flags *pflag.FlagSet) {
	flags.StringVar(&f.rules, "blame-rules", "", "a `FILE` of rules that decide which frames allocations are attributed to; they precede the built-in rules")
}

// GroupBy returns what one site is.
func (f *Grouping) GroupBy() sites.GroupBy { return sites.GroupBy(f.by) }

// BlameRules returns the rules of the user's file followed by the built-in ones, or nil for the
// built-in ones alone.
func (f *Grouping) BlameRules() (*class.Rules, error) {
	if f.rules == "" {
		return nil, nil
	}
	rules, err := class.ReadRules(f.rules)
	if err != nil {
		return nil, fmt.Errorf("--blame-rules: %w", err)
	}
	return rules.Before(class.DefaultRules()), nil
}

// DefineEvidence defines --evidence.
func DefineEvidence(cmd *cobra.Command, paths *[]string) {
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		flags.StringArrayVar(paths, "evidence", nil, "show what memcheck (valgrind --xml=yes) or LeakSanitizer found at the sites: `FILE` is its report (repeatable; a quoted glob pattern takes all that match)")
	})
}
