package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// Export is how snapshots are converted, and where the results go.
type Export struct {
	Source
	// Out is a directory, which is created if necessary, for a single result also a file, or "-"
	// for Stdout.
	Out    string
	Stdout io.Writer
	// Written, if not nil, is called with the path of each file.
	Written func(path string) error
	// Format is pprof, folded or json.
	Format string
	// Sample is the value of folded stacks.
	Sample convert.SampleType
	// Merge writes one profile of all snapshots, Delta the change from each snapshot to the next.
	Merge, Delta bool
	// Options are those of the converter, except for the filter.
	convert.Options
}

// Errors of options that do not fit the snapshots.
var (
	ErrNoObjects          = errors.New("the snapshots do not count objects")        // as Sample needs
	ErrNoCumulativeCounts = errors.New("the snapshots have no cumulative counts")   // as Sample needs
	ErrOneSnapshot        = errors.New("needs two snapshots or more; there is one") // Delta
	ErrOneFile            = errors.New("do not fit in one file: name a directory")  // Out
)

// Export converts the snapshots of a series.
func (p *Pipeline) Export(ctx context.Context, paths []string, o *Export) error {
	in, err := p.Open(paths, &o.Source, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	results := len(in.Heads)
	switch {
	case o.Merge:
		results = 1
	case o.Delta && results == 1:
		return ErrOneSnapshot
	case o.Delta:
		results--
	}
	target, err := newTarget(o, results, in.Series)
	if err != nil {
		return err
	}
	c, err := p.converter(ctx, in, o)
	if err != nil {
		return err
	}
	if o.Merge {
		return mergeSeries(c, in.Series, target)
	}
	update, end := p.progress("writing profiles")
	defer end()
	return o.writeAll(c, in.Series, target, update)
}

// converter names the addresses of a series and prepares its conversion.
func (p *Pipeline) converter(ctx context.Context, in *Input, o *Export) (*convert.Converter, error) {
	if err := p.Name(ctx, in, &o.Source); err != nil {
		return nil, err
	}
	options := o.Options
	options.Filter = in.Filter
	c, err := convert.New(in.Series, in.Symbols, options)
	switch {
	case err != nil:
		return nil, err
	case o.Sample.NeedsAlloc() && !c.Has(convert.AllocSpace):
		return nil, ErrNoCumulativeCounts
	case o.Sample.NeedsObjects() && in.Series.Heads[0].NoObjects:
		return nil, ErrNoObjects
	}
	return c, nil
}

// writeAll converts the snapshots one by one. Results are compressed and written while the next
// snapshot is read.
func (o *Export) writeAll(c *convert.Converter, s *series.Series, t *target, update func(done, all int)) error {
	q := convert.NewQueue(t.written)
	var before *convert.Samples
	convertOne := func(snap *series.Snapshot) error {
		samples, err := c.Samples(snap)
		if err != nil {
			return err
		}
		result := samples
		if o.Delta {
			if before, result = samples, samples.Since(before); result == nil {
				return nil
			}
		}
		update(snap.Index+1, len(s.Heads))
		path, content := t.path(snap.Head), o.render(c, result)
		if t.pipe != nil {
			return t.write(path, content)
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

// render returns samples in the format of the export.
func (o *Export) render(c *convert.Converter, s *convert.Samples) io.WriterTo {
	switch o.Format {
	case "folded":
		return c.Folded(s, o.Sample)
	case "json":
		return c.JSON(s)
	}
	return c.Encode(s)
}

func mergeSeries(c *convert.Converter, s *series.Series, t *target) error {
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
	return t.write(t.path(s.Heads[0]), m.Encode())
}

// ExportDifference converts the difference of the last snapshots at two paths, which may be of
// different processes: Process may name one of each, as in "4711,4712".
func (p *Pipeline) ExportDifference(ctx context.Context, base, current string, o *Export) error {
	var encoded [2]convert.Encoded
	var out *target
	var name string
	process := processesOf(o.Process)
	for i, path := range []string{base, current} {
		in, err := p.openSide(path, o.Source.of(process[i]))
		if err != nil {
			return err
		}
		defer in.Close()
		if out, err = newTarget(o, 1, in.Series); err != nil {
			return err
		}
		c, err := p.converter(ctx, in, o)
		if err != nil {
			return err
		}
		last := p.last(in)
		snap, err := in.Read(last)
		if err != nil {
			return err
		}
		samples, err := c.Samples(snap)
		if err != nil {
			return err
		}
		encoded[i], name = c.Encode(samples), out.path(in.Heads[last])
	}
	content, err := convert.Difference(encoded[0], encoded[1])
	if err != nil {
		return err
	}
	return out.write(name, content)
}

// target is where converted snapshots go.
type target struct {
	dir     string    // if it is a directory
	file    string    // if it is a file
	pipe    io.Writer // if it is a stream
	ext     string    // of the files in the directory
	written func(path string) error
}

// newTarget decides what Out is. An existing file, and a path with the extension of a profile, is a
// file; any other path is a directory.
func newTarget(o *Export, results int, s *series.Series) (*target, error) {
	info, err := os.Stat(o.Out)
	isDir := err == nil && info.IsDir()
	single := !isDir && (o.Out == "-" || err == nil || looksLikeFile(o.Out))
	if single && results != 1 {
		return nil, fmt.Errorf("%d results %w", results, ErrOneFile)
	}
	t := &target{
		ext:     map[string]string{"pprof": ".pb.gz", "folded": ".folded", "json": ".json"}[o.Format],
		written: o.Written,
	}
	if t.written == nil {
		t.written = func(string) error { return nil }
	}
	if o.Delta {
		t.ext = ".delta" + t.ext
	}
	switch {
	case o.Out == "-":
		t.pipe = o.Stdout
		return t, nil
	case single:
		t.file = o.Out
		return t, nil
	}
	t.dir = o.Out
	if err := t.distinct(s); err != nil {
		return nil, err
	}
	return t, os.MkdirAll(o.Out, 0o755)
}

// distinct returns an error if two snapshots have the same file.
func (t *target) distinct(s *series.Series) error {
	seen := map[string]string{}
	for _, h := range s.Heads {
		path := t.path(h)
		if other, ok := seen[path]; ok {
			return fmt.Errorf("%s and %s would both be written to %s: convert them separately", other, h.Path, path)
		}
		seen[path] = h.Path
	}
	return nil
}

func looksLikeFile(path string) bool {
	switch filepath.Ext(path) {
	case ".gz", ".pb", ".pprof", ".prof", ".folded", ".json", ".txt":
		return true
	}
	return false
}

// path returns the file for a snapshot.
func (t *target) path(h *series.Head) string {
	if t.dir == "" {
		return t.file
	}
	return filepath.Join(t.dir, convert.BaseName(h.Path)+t.ext)
}

// write writes one result.
func (t *target) write(path string, content io.WriterTo) error {
	write := func(w io.Writer) error {
		_, err := content.WriteTo(w)
		return err
	}
	if t.pipe != nil {
		return write(t.pipe)
	}
	if err := atomicfile.Write(path, atomicfile.Options{}, write); err != nil {
		return err
	}
	return t.written(path)
}
