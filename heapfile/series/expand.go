package series

import (
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/internal/expand"
)

// DefaultSnapshots is the default of [Options.Snapshots].
const DefaultSnapshots = expand.DefaultSnapshots

// expand replaces each recording of many snapshots by its snapshots. A file with only the name of a
// snapshot is not opened.
func (d *discovery) expand(o Options) (warnings []heapfile.Warning, err error) {
	var out []sourceFile
	for _, f := range dropDuplicates(d.files) {
		if filename.OfSnapshot(f.path) && !filename.OfRecording(f.path) {
			out = append(out, f)
			continue
		}
		expanded, err := expand.Expand(expand.File{FS: f.fs, Entry: f.entry, Path: f.path},
			expand.Options{Snapshots: o.Snapshots, Check: fatal(o.Check)})
		switch {
		case isFatal(err):
			return nil, err
		case err != nil:
			d.problems = append(d.problems, Problem{Path: f.path, Err: err, Named: f.named})
		case expanded == nil:
			out = append(out, f)
		default:
			d.spool = append(d.spool, expanded.Spool)
			warnings = append(warnings, expanded.Warnings...)
			for i, path := range expanded.Paths {
				name := filename.Name{Prefix: f.path, PID: expanded.PID, Seq: i + 1}
				s := sourceFile{path: path, fs: expanded.Spool, entry: path, name: name, named: f.named}
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
