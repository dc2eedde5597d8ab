package heapfile

import (
	"io"
	"io/fs"

	"github.com/heaplapse/heaplapse/heapfile/internal/intern"
	"github.com/heaplapse/heaplapse/internal/infile"
)

// Read decodes one snapshot, gzip and zstd compressed ones too. name stands
// for the file in messages. The error is a [*FormatError] when the bytes are no
// snapshot, else a [*SyntaxError]; then the snapshot is nil.
func Read(r io.Reader, name string) (*Snapshot, error) {
	src, err := newSource(r, name)
	if err != nil {
		return nil, err
	}
	return readAlone(src, name)
}

// ReadFile reads a regular file as [Read] does.
func ReadFile(path string) (*Snapshot, error) {
	src, err := openSource(infile.FS{}, path, path)
	if err != nil {
		return nil, err
	}
	return readAlone(src, path)
}

// readAlone reads a snapshot whose stacks are numbered in order of first appearance in its rows.
func readAlone(src *source, name string) (*Snapshot, error) {
	d := Decoder{once: true}
	s, err := d.read(src, name)
	if err != nil || d.numbered() {
		return s, err
	}
	var set intern.Set[Addr]
	for i := range s.Samples {
		number, _ := set.Intern(0, s.Stacks.Addrs(s.Samples[i].Stack))
		s.Samples[i].Stack = StackID(number)
	}
	s.Stacks = Stacks{set.View()}
	return s, nil
}

// ReadFile decodes the file at a path of a file system. name is its name in messages. The Samples of
// the snapshot refer to Stacks, which also holds the stacks of earlier files. The errors are those of
// [Read].
func (d *Decoder) ReadFile(fsys fs.FS, path, name string) (*Snapshot, error) {
	src, err := openSource(fsys, path, name)
	if err != nil {
		return nil, err
	}
	return d.read(src, name)
}

// Reuse gives the Decoder memory for the rows of the next snapshot: the Samples of one that is no
// longer needed.
func (d *Decoder) Reuse(samples []Sample) { d.spare = samples }

// read decodes a source, closes it and keeps its times.
func (d *Decoder) read(src *source, name string) (*Snapshot, error) {
	defer src.Close()
	if d.Check != nil {
		src.Reader = &checked{counter: counter{r: src.Reader}, check: d.Check}
	}
	s, err := d.decode(src, name)
	if err != nil {
		return nil, err
	}
	s.Recorded, s.Modified = src.recorded, src.modified
	s.Stacks = Stacks{d.set.View()}
	return s, nil
}

// ReadTotal returns the raw total in the header of a file, without reading the rows; zero
// if the header has none. name is the name of the file in messages.
func ReadTotal(fsys fs.FS, path, name string) (Counts, error) {
	src, err := openSource(fsys, path, name)
	if err != nil {
		return Counts{}, err
	}
	defer src.Close()
	var d Decoder
	d.lines.reset(src)
	d.snap = &Snapshot{Head: Head{Path: name}}
	if err := d.preamble(); err != nil {
		return Counts{}, err
	}
	if line, ok := d.lines.next(); ok && len(line) > 0 && !d.snap.HasTotal {
		d.rows.row(&d, line) // jemalloc's total is on the line after the header
	}
	return d.snap.Total, nil
}
