package series

import (
	"path/filepath"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/internal/discover"
	"github.com/heaplapse/heaplapse/internal/spool"
)

// ErrNoSnapshots is wrapped by the error of a path that holds no snapshots.
var ErrNoSnapshots = discover.ErrNoSnapshots

// Problem is a path that could not be used.
type Problem struct {
	Path string
	Err  error
	// Named is set if the user named this very file, rather than a directory or pattern.
	Named bool
}

func (p Problem) Error() string { return p.Err.Error() }
func (p Problem) Unwrap() error { return p.Err }

// Source is the file of a snapshot.
type Source struct {
	// Path is the name used in output. Entry is the file to read: the path, or the name in
	// Options.FS. It is "" for a copy of standard input or a pipe. A manifest is beside Entry.
	Path, Entry string
	// Named is set if the user named this very file.
	Named bool
}

// sourceFile is the file of a snapshot that was found.
type sourceFile struct {
	discover.File
	// position is that of a snapshot of a recording without times; nil if it is unknown.
	position *float64
	// summary is read if the name does not say which process wrote the file, or if there are
	// several; else nil.
	summary *heapfile.Summary
}

// discovery is the files that were found.
type discovery struct {
	spool    []*spool.Spool
	files    []sourceFile
	problems []Problem
}

// find finds the files at some paths, and those of the options.
func find(paths []string, o Options) *discovery {
	finder, d := discover.Finder{Stdin: o.Stdin, Waiting: o.Waiting}, &discovery{}
	for _, p := range paths {
		if err := finder.Add(p); err != nil {
			d.problems = append(d.problems, Problem{Path: p, Err: err, Named: true})
		}
	}
	in := discover.Comparable(o.FS)
	for _, s := range o.Sources {
		finder.AddEntry(in, s.Entry, s.Path, s.Named)
	}
	for _, f := range finder.Files {
		d.files = append(d.files, sourceFile{File: f})
	}
	d.spool = finder.Spool
	return d
}

// dropDuplicates keeps one of the files that were named twice, or that are present both plain and
// compressed. Of a snapshot and its conversion to pprof's format, it keeps the snapshot.
func dropDuplicates(files []sourceFile) []sourceFile {
	var out []sourceFile
	seen := map[string]int{} // place in out
	for _, f := range files {
		key, ext := filename.CutExtension(filepath.Clean(f.Path))
		i, ok := seen[key]
		if !ok {
			seen[key] = len(out)
			out = append(out, f)
			continue
		}
		f.Named = f.Named || out[i].Named
		if _, kept := filename.CutExtension(out[i].Path); ext == ".heap" && kept != ".heap" {
			out[i] = f
		}
		out[i].Named = f.Named
	}
	return out
}
