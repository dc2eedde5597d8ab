package series

import (
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/internal/discover"
	"github.com/heaplapse/heaplapse/heapfile/internal/expand"
)

// DefaultSnapshots is the default of [Options.Snapshots].
const DefaultSnapshots = expand.DefaultSnapshots

// expand replaces each recording of many snapshots by its snapshots. A file with only the name of a
// snapshot is not opened.
func (d *discovery) expand(o Options) (warnings []heapfile.Warning, err error) {
	var out []sourceFile
	for _, f := range dropDuplicates(d.files) {
		if filename.OfSnapshot(f.Path) && !filename.OfRecording(f.Path) {
			out = append(out, f)
			continue
		}
		expanded, err := expand.Expand(expand.File{FS: f.FS, Entry: f.Entry, Path: f.Path},
			expand.Options{Snapshots: o.Snapshots, Check: fatal(o.Check)})
		switch {
		case isFatal(err):
			return nil, err
		case err != nil:
			d.problems = append(d.problems, Problem{Path: f.Path, Err: err, Named: f.Named})
		case expanded == nil:
			out = append(out, f)
		default:
			d.spool = append(d.spool, expanded.Spool)
			warnings = append(warnings, expanded.Warnings...)
			for i, path := range expanded.Paths {
				name := filename.Name{Prefix: f.Path, PID: expanded.PID, Seq: i + 1}
				s := sourceFile{File: discover.File{Path: path, FS: expanded.Spool, Entry: path, Name: name, Named: f.Named}}
				if expanded.Positions != nil {
					s.position = &expanded.Positions[i]
				}
				out = append(out, s)
			}
		}
	}
	d.files = out
	return warnings, nil
}
