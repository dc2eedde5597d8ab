package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
)

func (a *app) bundleCommand() *cobra.Command {
	var search symbolFlags
	var strict bool
	cmd := &cobra.Command{
		Use:   "bundle PATH…",
		Short: "the snapshots and what names them, in one file for another machine",
		Long: `Writes one archive with the snapshots of all processes and, of the programs, libraries and debug files that
were mapped, the parts that names come from (symbol tables, debug sections; neither code nor data).
Every command takes the archive in place of a PATH, and gives the result that it gives here, also on a
machine that has none of these files or other builds of them. Prints the archive's path.

  heaplapse bundle /tmp/heap                   # ./heap` + bundle.Suffix + `
  heaplapse growth heap` + bundle.Suffix + `   # anywhere`,
		Args: somePaths,
		RunE: func(cmd *cobra.Command, paths []string) error {
			a.strict = strict
			return a.bundle(cmd.Context(), &search, paths, a.output)
		},
	}
	search.addPlaces(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 2 if anything in the input is suspect")
	cmd.Flags().StringVarP(&a.output, "output", "o", "", "write to `FILE` (default NAME"+bundle.Suffix+" in the current directory; - for standard output)")
	return cmd
}

// bundle packs the snapshots of all processes of some paths.
func (a *app) bundle(ctx context.Context, f *symbolFlags, paths []string, out string) error {
	if out == "" {
		out = bundleName(paths[0])
	}
	contents, err := a.gather(ctx, f, paths)
	if err != nil {
		return notWritten(out, err)
	}
	if out == "-" {
		return contents.Write(ctx, a.out)
	}
	if err := a.writeBundle(ctx, contents, out); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, out)
	return err
}

// writeBundle writes the archive, whole or not at all.
func (a *app) writeBundle(ctx context.Context, contents *bundle.Contents, out string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var size int64
	err := atomicfile.Write(out, atomicfile.Options{}, func(w io.Writer) error {
		counted := &countingWriter{w: w}
		err := contents.Write(ctx, counted)
		size = counted.n
		return err
	})
	if err != nil {
		return notWritten(out, err)
	}
	s := contents.Stats()
	a.say("%d snapshots, and of %d files the parts that names come from: %s of %s; the archive has %s", s.Snapshots, s.Files,
		units.Bytes(s.Kept), units.Bytes(s.Original), units.Bytes(size))
	return nil
}

// notWritten returns err, reworded if a context ended.
func notWritten(out string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: interrupted: nothing was written", out)
	}
	return err
}

// gather reads the series of all processes and looks up their names.
func (a *app) gather(ctx context.Context, f *symbolFlags, paths []string) (*bundle.Contents, error) {
	for _, p := range paths {
		if bundle.Is(p) {
			return nil, fmt.Errorf("%s: is a bundle already", p)
		}
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	if o.Binary != "" { // a relative path leads elsewhere where the bundle is read
		if o.Binary, err = filepath.Abs(o.Binary); err != nil {
			return nil, err
		}
	}
	ctx, stop := interruptible(ctx, o.Debuginfod)
	defer stop()
	c := &bundle.Collector{Writer: version(), Search: o}
	others, err := a.gatherProcess(ctx, c, paths, "")
	for _, p := range others {
		if err == nil {
			_, err = a.gatherProcess(ctx, c, paths, p.String())
		}
	}
	if err != nil {
		return nil, err
	}
	return c.Contents()
}

// gatherProcess adds one process and returns the others.
func (a *app) gatherProcess(ctx context.Context, c *bundle.Collector, paths []string, process string) ([]series.Process, error) {
	bar := newProgress(a.err, "reading snapshots")
	s, err := series.Open(paths, series.Options{Process: process, Stdin: a.in, Progress: bar.update})
	bar.done()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if process == "" {
		a.reportProblems(s)
	}
	symbols, err := c.Add(ctx, s)
	if err != nil {
		return nil, err
	}
	a.warnSymbols(symbols)
	return s.Others, nil
}

// bundleName is what the bundle of a path is called.
func bundleName(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute // . has a name, too
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[]\`, r) {
			return -1
		}
		return r
	}, convert.BaseName(path)), ".")
	if name == "" || name == "/" {
		name = "heap"
	}
	return name + bundle.Suffix
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
