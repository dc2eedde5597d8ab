package pipeline

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/symbolize/bundle"
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
	c := &bundle.Collector{Writer: version, Search: search}
	others, err := p.collectProcess(ctx, c, paths, "", o)
	for _, other := range others {
		if err == nil {
			_, err = p.collectProcess(ctx, c, paths, other.String(), o)
		}
	}
	if err != nil {
		return nil, err
	}
	return c.Contents()
}

// collectProcess adds one process and returns the others.
func (p *Pipeline) collectProcess(
	ctx context.Context,
	c *bundle.Collector,
	paths []string,
	process string,
	o *Source,
) ([]series.Process, error) {
	s, err := p.openSeries(paths, series.Options{Process: process, Check: o.Check})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if process == "" {
		p.tellProblems(s, o.Strict)
	}
	symbols, err := c.Add(ctx, s)
	if err != nil {
		return nil, err
	}
	p.tellSymbols(symbols)
	return s.Others, nil
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
func WriteBundle(ctx context.Context, path string, contents *bundle.Contents) (size int64, err error) {
	err = atomicfile.Write(path, atomicfile.Options{}, func(w io.Writer) error {
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
