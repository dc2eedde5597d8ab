package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/internal/holders"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/record/running"
	holdersreport "github.com/heaplapse/heaplapse/internal/report/holders"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

type holdersFlags struct {
	rss      bool
	top      int
	demangle string
	flagset.DebugFiles
	output.Flags
}

func (a *app) holdersCommand() *cobra.Command {
	var f holdersFlags
	cmd := &cobra.Command{
		Use:   "holders [flags] PID",
		Short: "tell what keeps the memory of a running process alive",
		Long: `Looks at a process once, and tells what holds the blocks of memory of the sizes that have most: the
variable, over which objects, or that nothing does and they are lost. The process needs no
preparation and no recording. Its threads are stopped for some milliseconds, while it makes a copy
of itself; heaplapse reads the copy, and removes it. Of a process that is being recorded, it first
tells what holds the memory of each line of code.

  heaplapse holders 4711
  heaplapse holders 4711 --rss    where its resident memory is, and what would make it less

It works on x86-64 with the malloc of glibc and musl, jemalloc 5.2 and 5.3, and CPython 3.8 and
later. Names of types, variables and attributes are told, but no key and no value of the program's
data. See docs/holders.md and docs/rss.md.

Exit status: 0: looked; 2: the process cannot be looked at, and was left alone.`,
		Args: help.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, err := flagset.PID(args[0])
			if err != nil {
				return help.Error(cmd, err)
			}
			return a.holders(cmd.Context(), &f, pid)
		},
	}
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.rss, "rss", false,
			"tell where the resident memory is, also what is free in allocators, and what helps")
		flags.Var(flagset.Count(&f.top, 10), "top", "tell what holds the `N` sizes of blocks with most memory")
		flagset.DefineDemangle(flags, &f.demangle, "simple")
	})
	f.Flags.Add(cmd, "text", "json")
	cmd.MarkFlagsMutuallyExclusive("rss", "top")
	flagset.Manglings.Complete(cmd)
	f.DebugFiles.Add(cmd)
	return cmd
}

func (a *app) holders(ctx context.Context, f *holdersFlags, pid int) error {
	symbols, err := f.DebugFiles.Options(f.demangle)
	if err != nil {
		return err
	}
	o := holders.Options{Symbols: symbols, Guard: newGuard()}
	defer o.Guard.Close()
	width := 0
	if f.ToStdout() {
		width = terminal.Width(a.Out)
	}
	if f.rss {
		result, err := holders.Resident(ctx, pid, o)
		if err != nil {
			return err
		}
		return f.Render(a.Out, &holdersreport.RSS{Result: result, Width: width})
	}
	recording, recorded := running.Of(pid)
	q := holders.Question{Groups: f.top, Sites: recorded, Image: recording.Image, Options: o}
	look, err := holders.Ask(ctx, pid, q)
	if err != nil {
		return err
	}
	r := &holdersreport.Report{Look: look, Top: f.top, All: a.Verbose, Width: width}
	if recorded {
		source := &pipeline.Source{Process: strconv.Itoa(pid), Symbols: symbols}
		in, seen, err := a.Pipeline().Seen(ctx, recording.Dir, look, source)
		if err != nil {
			a.Warn("the lines of code are not named: " + err.Error())
			return f.Render(a.Out, r)
		}
		defer in.Close()
		r.Sites = holdersreport.NamedSites(in, seen, siteview.Options{})
	}
	return f.Render(a.Out, r)
}
