package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/internal/report/listing"
	"github.com/heaplapse/heaplapse/internal/terminal"
)

type infoFlags struct {
	flagset.Series
	flagset.Symbols
	output.Flags
	symbols bool
}

func (a *app) infoCommand() *cobra.Command {
	var f infoFlags
	cmd := &cobra.Command{
		Use:   "info PATH…",
		Short: "list snapshots, and report what is missing or suspect",
		Long: `Lists the snapshots of a series with their times and totals, the process that wrote them, and
everything in them that is missing or suspect. --symbols also reports which functions have no
names, how much memory they allocated, and how to get the names.

  heaplapse info DIR --symbols`,
		Args: help.SomePath(),
		RunE: func(cmd *cobra.Command, paths []string) error { return a.info(cmd.Context(), &f, paths) },
	}
	help.Group(cmd, help.Input, f.Series.Define)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.symbols, "symbols", false, "also report functions without names, and how to get the names")
	})
	f.Flags.Add(cmd, "text", "json")
	f.Symbols.Add(cmd)
	help.Levels(
		cmd,
		"process strict symbols output format",
		"snapshots demangle binary sysroot debug-dir debuginfod perf-map no-cache",
	)
	return cmd
}

func (a *app) info(ctx context.Context, f *infoFlags, paths []string) error {
	source, err := f.Source(&f.Symbols)
	if err != nil {
		return err
	}
	p := a.Pipeline()
	p.Tell = a.TellFailures // the result contains the warnings
	in, err := p.Open(paths, source, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	info := &listing.Info{Series: in.Series, All: a.Verbose}
	if f.ToStdout() {
		info.Width = terminal.Width(a.Out)
	}
	if f.symbols {
		p.Tell = a.Tell
		if info.Unnamed, err = p.Unnamed(ctx, in, source); err != nil {
			return err
		}
	} else {
		info.Program = in.Program(ctx, source.Symbols)
	}
	return f.Render(a.Out, info)
}
