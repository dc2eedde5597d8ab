package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Collect reads the series of all processes at some paths, names their addresses, and returns the
// contents of a bundle. The version is that of the program that writes it.
func (p *Pipeline) Collect(ctx context.Context, paths []string, o *Source, version string) (*bundle.Contents, error) {
	for _, path := range paths {
		if bundle.Is(path) {
			return nil, fmt.Errorf("%s: is a bundle already", path)
		}
	}
	search := o.Symbols
	if search.Binary != "" { // a relative path means another file where the bundle is read
		var err error
		if search.Binary, err = filepath.Abs(search.Binary); err != nil {
			return nil, err
		}
	}
	c := &packer{Pipeline: p, Collector: bundle.Collector{Writer: version, Search: search}}
	if err := c.addAll(ctx, paths, o); err != nil {
		return nil, err
	}
	return c.Contents()
}

// Names are the files that KeepNames keeps.
type Names struct {
	// Held returns where the files of a process can be read that the recorder holds open.
	Held func(pid int) bundle.Held
	// Keep reports whether a file is kept, by its path in the process.
	Keep func(path string) bool
	// Version is that of the program that writes them.
	Version string
}

// KeepNames writes files that name the addresses of a recording to its directory: see [manifest.NamesFile]. The result
// is the size in bytes. If a file system does not answer, it returns an error after a while.
func KeepNames(ctx context.Context, dir string, names Names) (int64, error) {
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type result struct {
		size int64
		err  error
	}
	done := make(chan result, 1)
	go func() {
		size, err := keepNames(ctx, dir, names)
		done <- result{size, err}
	}()
	select {
	case r := <-done:
		return r.size, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func keepNames(ctx context.Context, dir string, names Names) (size int64, err error) {
	silent := &Pipeline{Tell: func(Notice) {}} // what reads the recording tells what is wrong
	c := &packer{Pipeline: silent, Collector: bundle.Collector{Writer: names.Version}, held: names.Held}
	if err := c.addAll(ctx, []string{dir}, &Source{}); err != nil {
		return 0, err
	}
	contents, err := c.Unbound(names.Keep)
	if err != nil {
		return 0, err
	}
	// The directory may belong to another user, who may have put a link there.
	o := atomicfile.Options{Replace: true, Finish: atomicfile.OnlyForOwner}
	return WriteBundle(ctx, filepath.Join(dir, manifest.NamesFile), o, contents)
}

// packer gathers the contents of a bundle.
type packer struct {
	*Pipeline
	bundle.Collector
	held func(pid int) bundle.Held // nil if no recorder holds files
}

// addAll adds the series of all processes at some paths.
func (c *packer) addAll(ctx context.Context, paths []string, o *Source) error {
	r, err := c.Find(paths, o)
	if err != nil {
		return err
	}
	defer r.Close()
	c.tellProblems(r.Problems, o.Strict)
	added := false
	for i := range r.Processes {
		err := c.add(ctx, r, i, o)
		var unusable *series.UnusableError
		switch {
		case err == nil:
			added = true
		case errors.As(err, &unusable) && (added || i+1 < len(r.Processes)):
			c.tellProblems(unusable.Problems, o.Strict)
		default:
			return err
		}
	}
	return nil
}

// add adds the series of one process.
func (c *packer) add(ctx context.Context, r *Recording, process int, o *Source) error {
	open := func(so series.Options) (*series.Series, error) { return r.Open(process, so) }
	var largest largestSnapshot
	s, err := c.reading(o, largest.visit, open)
	if err != nil {
		return err
	}
	c.tellProblems(s.Problems, o.Strict)
	symbols, err := c.resolve(ctx, s, o)
	if err != nil {
		return err
	}
	c.tellSymbols(symbols)
	if len(r.Processes) == 1 {
		c.tellDebugFiles(symbols, o.Symbols.DebugDirs)
	}
	c.tellNameless(s, symbols, largest)
	return nil
}

// resolve names the addresses of a series.
func (c *packer) resolve(ctx context.Context, s *series.Series, o *Source) (*symbolize.Symbols, error) {
	if c.held != nil {
		return c.AddHeld(ctx, s, c.held(s.PID()))
	}
	if o.Symbols.Sysroot == "" {
		c.Search.Sysroot = otherRoot(s.PID(), symbolize.MainProgram(s))
	}
	return c.Add(ctx, s)
}

// largestSnapshot is the bytes in use on each stack of the largest snapshot. It is noted while
// snapshots are read: a recorder that runs may remove them later.
type largestSnapshot struct {
	total int64
	inUse map[heapfile.StackID]int64
}

func (l *largestSnapshot) visit(s *series.Snapshot) error {
	if s.Heap().InuseBytes <= l.total {
		return nil
	}
	l.total, l.inUse = s.Heap().InuseBytes, make(map[heapfile.StackID]int64, len(s.Samples))
	for _, row := range s.Samples {
		l.inUse[row.Stack] += s.Estimate(row).InuseBytes
	}
	return nil
}

// tellNameless reports the functions that have no names in the largest snapshot.
func (p *Pipeline) tellNameless(s *series.Series, symbols *symbolize.Symbols, largest largestSnapshot) {
	unnamed := class.NewUnnamed(symbols, nil)
	for stack, bytes := range largest.inUse {
		unnamed.Add(stack, bytes)
	}
	if !unnamed.Done().Negligible() {
		p.Tell(Notice{Kind: UnnamedFunctions, Subject: s.Process.Name(), Unnamed: unnamed})
	}
}

// BundleName returns the name of the bundle of a path.
func BundleName(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute // "." has a name, too
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

// WriteBundle writes a bundle to a file, whole or not at all, and returns its size in bytes.
func WriteBundle(
	ctx context.Context, path string, o atomicfile.Options, contents *bundle.Contents,
) (size int64, err error) {
	err = atomicfile.Write(path, o, func(w io.Writer) error {
		counted := &countingWriter{w: w}
		err := contents.Write(ctx, counted)
		size = counted.n
		return err
	})
	return size, err
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
