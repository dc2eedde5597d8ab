package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// target is where converted snapshots go.
type target struct {
	dir    string // if a directory
	only   string // the single file, or the name of a single result
	ext    string
	stdout io.Writer
	pipe   bool // the result itself goes to standard output
}

// extensions of the formats.
var extensions = map[string]string{"pprof": ".pb.gz", "folded": ".folded", "json": ".json"}

// newTarget decides what -o means: - is standard output, a path that looks like a profile's is a file,
// anything else a directory.
func newTarget(f *convertFlags, results int, s *series.Series, stdout io.Writer) (*target, error) {
	out := f.out
	info, err := os.Stat(out)
	isDir := err == nil && info.IsDir()
	single := !isDir && (out == "-" || (err == nil && !isDir) || looksLikeFile(out))
	if single && results != 1 {
		return nil, fmt.Errorf("-o %s: %d results do not fit in one file: name a directory", out, results)
	}
	t := &target{ext: extensions[f.format], stdout: stdout}
	switch {
	case out == "-":
		t.pipe = true
		return t, nil
	case single:
		t.only = out
		return t, nil
	}
	t.dir = out
	if err := t.distinct(s, f.delta); err != nil {
		return nil, err
	}
	return t, os.MkdirAll(out, 0o755)
}

// distinct refuses to write two snapshots into one file.
func (t *target) distinct(s *series.Series, delta bool) error {
	seen := map[string]string{}
	for _, h := range s.Heads {
		path := t.path(h, delta)
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

// path is the file for a snapshot.
func (t *target) path(s *series.Head, delta bool) string {
	if t.dir == "" {
		return t.only
	}
	name := convert.BaseName(s.Path)
	if delta {
		name += ".delta"
	}
	return filepath.Join(t.dir, name+t.ext)
}

// write writes one result and prints its path.
func (t *target) write(path string, content io.WriterTo) error {
	if t.pipe {
		_, err := content.WriteTo(t.stdout)
		return err
	}
	err := atomicfile.Write(path, atomicfile.Options{}, func(w io.Writer) error {
		_, err := content.WriteTo(w)
		return err
	})
	if err != nil {
		return err
	}
	return t.print(path)
}

func (t *target) print(path string) error {
	_, err := fmt.Fprintln(t.stdout, path)
	return err
}
