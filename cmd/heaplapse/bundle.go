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
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

type bundleFlags struct {
	flagset.Files
	flagset.Read
	output string
}

func (a *app) bundleCommand() *cobra.Command {
	var f bundleFlags
	cmd := &cobra.Command{
		Use:   "bundle PATH…",
		Short: "pack snapshots and symbols into one file for another machine",
		Long: `Writes one archive that contains the snapshots of all processes, and the parts of the mapped
programs, libraries and debug files that contain names: symbol tables and debug sections, but
neither code nor data. Every command accepts the archive as PATH and prints the same result on any
machine. Prints the path of the archive.

  heaplapse bundle /tmp/heap                # writes ./heap` + bundle.Suffix + `
  heaplapse growth heap` + bundle.Suffix + `   # on any machine`,
		Args: help.SomePath(),
		RunE: func(cmd *cobra.Command, paths []string) error { return a.bundle(cmd.Context(), &f, paths) },
	}
	help.Group(cmd, help.Input, func(flags *pflag.FlagSet) {
		f.Read.Define(flags)
	})
	help.Group(cmd, help.Output, func(flags *pflag.FlagSet) {
		flags.VarP(flagset.OutputFile(&f.output), "output", "o", "write to `FILE` (default: NAME"+bundle.Suffix+" in the current directory; - is standard output)")
	})
	help.Group(cmd, help.Files, f.Files.Define)
	return cmd
}

// bundle packs the snapshots of all processes of some paths.
func (a *app) bundle(ctx context.Context, f *bundleFlags, paths []string) error {
	a.signals.Orderly()
	out := f.output
	if out == "" {
		out = pipeline.BundleName(paths[0])
	}
	contents, err := a.collect(ctx, f, paths)
	if err != nil {
		return notWritten(out, err)
	}
	if out == "-" {
		return contents.Write(ctx, a.Out)
	}
	if err := a.writeBundle(ctx, contents, out); err != nil {
		return err
	}
	return output.Lines(a.Out, out)
}

// collect returns the contents of the bundle of some paths.
func (a *app) collect(ctx context.Context, f *bundleFlags, paths []string) (*bundle.Contents, error) {
	source, err := f.Source(&flagset.Symbols{Files: f.Files})
	if err != nil {
		return nil, err
	}
	return a.Pipeline().Collect(ctx, paths, source, build.Version())
}

// writeBundle writes the archive, whole or not at all.
func (a *app) writeBundle(ctx context.Context, contents *bundle.Contents, out string) error {
	size, err := pipeline.WriteBundle(ctx, out, atomicfile.Options{}, contents)
	if err != nil {
		return notWritten(out, err)
	}
	s := contents.Stats()
	a.Say("%s, and the parts of %s that names come from: %s of %s; the archive has %s", units.Count(s.Snapshots, "snapshot"),
		units.Count(s.Files, "file"), units.Bytes(s.Kept), units.Bytes(s.Original), units.Bytes(size))
	if s.Removed > 0 {
		a.Say("%s removed by the recorder meanwhile", units.Count(s.Removed, "snapshot"))
	}
	return nil
}

// notWritten rewords the error of a context that was canceled.
func notWritten(out string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: interrupted: nothing was written", out)
	}
	return err
}
