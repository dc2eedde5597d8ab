package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/flagset"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/help"
	"github.com/heaplapse/heaplapse/cmd/heaplapse/internal/output"
	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/internal/pipeline"
)

type convertFlags struct {
	flagset.Stacks
	out, format, sample string
	merge, delta, diff  bool
	keepAllocator       bool
	maxSamples          int
}

var convertFormats = flagset.NewChoice("format", "pprof", "folded", "json")

func (a *app) convertCommand() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert PATH… -o OUT",
		Short: "convert snapshots to pprof: one by one, merged, or as differences",
		Long: `Writes a symbolized pprof protobuf for each snapshot and prints the paths of the files. OUT is a
directory, which is created if necessary. For a single result it may also be a file, or - for
standard output.

  heaplapse convert DIR -o OUT/             one file per snapshot
  heaplapse convert DIR --merge -o F.pb.gz  one file; samples have the labels "snapshot" and
                                            "elapsed", for pprof's -tagfocus and -tagroot
  heaplapse convert DIR --delta -o OUT/     the change from each snapshot to the next
  heaplapse convert A B --diff -o F.pb.gz   B minus A; they may be of different processes`,
		Args: help.SomePath(),
		RunE: func(cmd *cobra.Command, paths []string) error { return a.convert(cmd.Context(), &f, paths) },
	}
	f.Ages = true
	f.Stacks.Add(cmd)
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.StringVarP(&f.out, "output", "o", "", "write to `OUT`: a directory, a file or - (required)")
		convertFormats.Var(flags, &f.format, "pprof", "write `FORMAT`: pprof, folded (stacks for flame graphs) or json")
		flags.BoolVar(&f.merge, "merge", false, "write one profile of all snapshots, each with a label")
		flags.BoolVar(&f.delta, "delta", false, "write the change from each snapshot to the next")
		flags.BoolVar(&f.diff, "diff", false, "write the second PATH minus the first; of a series, the last snapshot is used")
		flagset.SampleTypes.Var(flags, &f.sample, string(convert.InuseSpace),
			"the `VALUE` of folded stacks: "+flagset.SampleTypes.String())
		flags.IntVar(&f.maxSamples, "max-samples", 0, "keep the `N` largest samples of a profile and add up the others in one (0: keep all)")
		defineKeepAllocator(flags, &f.keepAllocator)
	})
	convertFormats.Complete(cmd)
	flagset.SampleTypes.Complete(cmd)
	help.Levels(cmd, "older-than merge delta diff output format sample process focus",
		"born-after ignore demangle binary sysroot debug-dir debuginfod")
	return cmd
}

func defineKeepAllocator(flags *pflag.FlagSet, keep *bool) {
	flags.BoolVar(keep, "keep-allocator-frames", false, "keep the frames of tcmalloc and jemalloc at the end of stacks")
}

// check returns an error for flags that do not go together.
func (f *convertFlags) check(paths []string) error {
	if f.out == "" {
		return errors.New("convert: -o OUT is missing: a directory, or a file or - for a single result")
	}
	switch {
	case f.merge && f.delta, f.merge && f.diff, f.delta && f.diff:
		return errors.New("--merge, --delta and --diff exclude each other: give one of them")
	case f.format != "pprof" && (f.merge || f.diff):
		return fmt.Errorf("--merge and --diff need --format pprof: %s has no labels", f.format)
	case f.diff && len(paths) != 2:
		return fmt.Errorf("--diff takes two PATHs, base and current; there are %d", len(paths))
	case f.maxSamples < 0:
		return fmt.Errorf("--max-samples %d: want 1 or more, or 0 for no limit", f.maxSamples)
	}
	return nil
}

func (a *app) convert(ctx context.Context, f *convertFlags, paths []string) error {
	if err := f.check(paths); err != nil {
		return err
	}
	source, err := f.Source()
	if err != nil {
		return err
	}
	o := &pipeline.Export{
		Source: *source, Out: f.out, Stdout: a.Out, Written: func(path string) error { return output.Lines(a.Out, path) },
		Format: f.format, Sample: convert.SampleType(f.sample), Merge: f.merge, Delta: f.delta,
		Options: convert.Options{Tool: build.Tool(), KeepAllocatorFrames: f.keepAllocator, MaxSamples: f.maxSamples},
	}
	if f.diff {
		err = a.Pipeline().ExportDifference(ctx, paths[0], paths[1], o)
	} else {
		err = a.Pipeline().Export(ctx, paths, o)
	}
	switch {
	case errors.Is(err, pipeline.ErrNoCumulativeCounts), errors.Is(err, pipeline.ErrNoObjects):
		return fmt.Errorf("--sample %s: %w", f.sample, err)
	case errors.Is(err, pipeline.ErrOneSnapshot):
		return fmt.Errorf("--delta %w", err)
	case errors.Is(err, pipeline.ErrOneFile):
		return fmt.Errorf("-o %s: %w", f.out, err)
	}
	return err
}
