package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

type convertFlags struct {
	stackFlags
	out, format, sample string
	merge, delta, diff  bool
	keepAllocator       bool
	maxSamples          int
}

func (a *app) convertCommand() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert PATH… -o OUT",
		Short: "pprof protobufs, symbolized: one per snapshot, or merged, or differences",
		Long: `Writes a pprof protobuf for each snapshot and prints the paths that it wrote.
OUT is a directory, made if need be; for a single result it may be a file, or -
for standard output.

  convert DIR -o OUT/             one file per snapshot
  convert DIR --merge -o F.pb.gz  one file; samples are labelled "snapshot" and "elapsed",
                                  for pprof's -tagfocus and -tagroot
  convert DIR --delta -o OUT/     what changed from each snapshot to the next
  convert A B --diff -o F.pb.gz   B minus A, which may be of different processes`,
		Args: somePaths,
		RunE: func(cmd *cobra.Command, paths []string) error { return a.convert(cmd.Context(), &f, paths) },
	}
	f.add(a, cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "directory, file or - to write to (required)")
	flags.StringVar(&f.format, "format", "pprof", "pprof, folded (stacks for flame graphs) or json")
	flags.StringVar(&f.sample, "sample", string(convert.InuseSpace), "the value of folded stacks: inuse_space, inuse_objects, alloc_space or alloc_objects")
	flags.BoolVar(&f.merge, "merge", false, "one profile of all snapshots, each labelled")
	flags.BoolVar(&f.delta, "delta", false, "what changed between neighbours")
	flags.BoolVar(&f.diff, "diff", false, "the second PATH minus the first; of a series its last snapshot counts")
	flags.BoolVar(&f.keepAllocator, "keep-allocator-frames", false, "keep tcmalloc's and jemalloc's own frames at the leaf")
	flags.IntVar(&f.maxSamples, "max-samples", 0, "fold the smallest samples of a profile into one, to keep at most `N` (0: no limit)")
	cmd.MarkFlagsMutuallyExclusive("merge", "delta", "diff")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"pprof", "folded", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check refuses flags that do not go together.
func (f *convertFlags) check(paths []string) error {
	switch {
	case f.out == "":
		return errors.New("convert: -o OUT is missing: a directory, or a file or - for a single result")
	case !slices.Contains([]string{"pprof", "folded", "json"}, f.format):
		return fmt.Errorf("--format %s: want pprof, folded or json", f.format)
	case !slices.Contains(convert.SampleTypes, convert.SampleType(f.sample)):
		return fmt.Errorf("--sample %s: want one of %v", f.sample, convert.SampleTypes)
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
	if f.diff {
		return a.convertDiff(ctx, f, paths[0], paths[1])
	}
	s, err := f.open(a, paths, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	results := len(s.Heads)
	switch {
	case f.merge:
		results = 1
	case f.delta:
		results--
	}
	if results == 0 {
		return errors.New("--delta needs two snapshots or more; there is one")
	}
	target, err := newTarget(f, results, s, a.out)
	if err != nil {
		return err
	}
	c, err := f.converter(ctx, a, s)
	if err != nil {
		return err
	}
	if f.merge {
		return mergeSeries(c, s, target)
	}
	bar := newProgress(a.err, "writing profiles")
	defer bar.done()
	return f.writeAll(c, s, target, bar)
}

// converter symbolizes a series and prepares its conversion.
func (f *convertFlags) converter(ctx context.Context, a *app, s *series.Series) (*convert.Converter, error) {
	symbols, filter, err := f.named(ctx, a, s)
	if err != nil {
		return nil, err
	}
	c, err := convert.New(s, symbols, convert.Options{
		Tool: "heaplapse " + version(), Filter: filter, KeepAllocatorFrames: f.keepAllocator, MaxSamples: f.maxSamples,
	})
	if err == nil && convert.SampleType(f.sample).NeedsAlloc() && !c.HasAlloc() {
		return nil, fmt.Errorf("--sample %s: the snapshots have no cumulative counts", f.sample)
	}
	return c, err
}

// writeAll converts the snapshots one by one; compressing and writing run beside reading.
func (f *convertFlags) writeAll(c *convert.Converter, s *series.Series, target *target, bar *progress) error {
	q := convert.NewQueue(target.print)
	var before *convert.Samples
	convertOne := func(snap *series.Snapshot) error {
		samples, err := c.Samples(snap)
		if err != nil {
			return err
		}
		result := samples
		if f.delta {
			if before, result = samples, samples.Since(before); result == nil {
				return nil
			}
		}
		bar.update(snap.Index+1, len(s.Heads))
		path, content := target.path(snap.Head, f.delta), f.render(c, result)
		if target.pipe {
			return target.write(path, content)
		}
		q.Put(path, content)
		return nil
	}
	for snap, err := range s.All(0) {
		if err == nil {
			err = convertOne(snap)
		}
		if err != nil {
			return errors.Join(err, q.Wait())
		}
	}
	return q.Wait()
}

// render gives samples the form that was asked for.
func (f *convertFlags) render(c *convert.Converter, s *convert.Samples) io.WriterTo {
	switch f.format {
	case "folded":
		return c.Folded(s, convert.SampleType(f.sample))
	case "json":
		return c.JSON(s)
	}
	return c.Encode(s)
}

func mergeSeries(c *convert.Converter, s *series.Series, target *target) error {
	m := c.NewMerge()
	for snap, err := range s.All(0) {
		if err != nil {
			return err
		}
		samples, err := c.Samples(snap)
		if err != nil {
			return err
		}
		m.Add(samples)
	}
	return target.write(target.path(s.Heads[0], false), m.Encode())
}

func (a *app) convertDiff(ctx context.Context, f *convertFlags, base, current string) error {
	var encoded [2]convert.Encoded
	var target *target
	for i, path := range []string{base, current} {
		s, err := f.open(a, []string{path}, nil)
		if err != nil {
			return err
		}
		defer s.Close()
		if target, err = newTarget(f, 1, s, a.out); err != nil {
			return err
		}
		c, err := f.converter(ctx, a, s)
		if err != nil {
			return err
		}
		last := len(s.Heads) - 1
		snap, err := s.Read(last)
		if err != nil {
			return err
		}
		samples, err := c.Samples(snap)
		if err != nil {
			return err
		}
		encoded[i] = c.Encode(samples)
		target.only = target.path(s.Heads[last], false)
	}
	content, err := convert.Difference(encoded[0], encoded[1])
	if err != nil {
		return err
	}
	return target.write(target.only, content)
}
