package heapfile

import (
	"io"
	"io/fs"
	"time"

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

// ReadFile decodes the file at a path of a file system. name is its name in messages. The Samples
// of the snapshot refer to Stacks, which also holds the stacks of earlier files. The errors are
// those of [Read].
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
	decode := d.decode
	if src.profile {
		decode = d.decodeProfile
	}
	s, err := decode(src, name)
	if err != nil {
		return nil, err
	}
	if s.Recorded.IsZero() {
		s.Recorded = src.recorded
	}
	s.Modified = src.modified
	s.Stacks = Stacks{d.set.View()}
	return s, nil
}

// Summary is what a file says of itself without its rows.
type Summary struct {
	Format Format
	// Total is the raw total in the header, or the sum of a pprof profile; zero if the header has
	// none.
	Total Counts
	// Program and BuildID are those of the program, and Recorded is the time of the snapshot. They
	// are known only of pprof profiles.
	Program, BuildID string
	Recorded         time.Time
}

// ReadSummary returns the summary of a file. name is the name of the file in messages. check, if
// not nil, is as Decoder.Check.
func ReadSummary(fsys fs.FS, path, name string, check func(more int64) error) (Summary, error) {
	src, err := openSource(fsys, path, name)
	if err != nil {
		return Summary{}, err
	}
	if src.profile {
		d := Decoder{Check: check, Merge: true}
		s, err := d.read(src, name)
		if err != nil {
			return Summary{}, err
		}
		out := Summary{Format: s.Format, Total: s.Completeness.Estimate, Recorded: s.Recorded}
		if len(s.Mappings) > 0 { // profiles list the program first
			out.Program, out.BuildID = s.Mappings[0].Path, s.Mappings[0].BuildID
		}
		return out, nil
	}
	defer src.Close()
	var d Decoder
	d.lines.reset(src)
	d.snap = &Snapshot{Head: Head{Path: name}}
	if err := d.preamble(); err != nil {
		return Summary{}, err
	}
	if line, ok := d.lines.next(); ok && len(line) > 0 && !d.snap.HasTotal {
		d.rows.row(&d, line) // jemalloc's total is on the line after the header
	}
	return Summary{Format: d.snap.Format, Total: d.snap.Total}, nil
}
