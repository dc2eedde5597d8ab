package heapfile

import "io"

// Read decodes one snapshot, gzip and zstd compressed ones too. name stands
// for the file in messages. The error is a [*FormatError] when the bytes are no
// snapshot, else a [*SyntaxError]; the snapshot is then nil.
func Read(r io.Reader, name string) (*Snapshot, error) {
	src, err := newSource(r, name)
	if err != nil {
		return nil, err
	}
	return standalone(src, name)
}

// ReadFile is [Read] on a file.
func ReadFile(path string) (*Snapshot, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	return standalone(src, path)
}

// standalone reads a snapshot that has a stack table of its own.
func standalone(src *source, path string) (*Snapshot, error) {
	defer src.Close()
	d := decoder{once: true}
	s, err := d.read(src, path)
	if err != nil {
		return nil, err
	}
	if d.numbered() {
		s.Stacks = &StackTable{set: d.set, spaces: make([]Space, len(d.set.ends))}
		return s, nil
	}
	s.Stacks = &StackTable{}
	var ids idMap
	ids.apply(s, d.set.view(), s.Stacks, 0, 0)
	return s, nil
}

// read decodes a source and keeps its times.
func (d *decoder) read(src *source, path string) (*Snapshot, error) {
	s, err := d.decode(src, path)
	if err != nil {
		return nil, err
	}
	s.Recorded, s.Modified = src.recorded, src.modified
	return s, nil
}
