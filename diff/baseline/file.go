package baseline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/symbolize"
)

const (
	// schema is the version that this package reads and writes.
	schema = "heaplapse.baseline/1"
	// Suffix ends the name of a baseline's file.
	Suffix = ".baseline.json.gz"
	// maxContent bounds the size of a document in bytes: about twenty times that of a large run.
	maxContent = 64 << 20
	// maxDepth bounds the frames of a stack. jemalloc records at most 128, and each may have
	// inlined functions.
	maxDepth = 4096
)

// document is a Run as JSON. Numbers that are 0 are omitted.
type document struct {
	Schema string `json:"schema"`
	Meta   meta   `json:"meta"`
	Total  level  `json:"total"`
	Rest   level  `json:"rest"`
	// Strings and Frames are tables. A frame is the indices of its function, module and file in
	// Strings, and its line.
	Strings []string `json:"strings"`
	Frames  [][4]int `json:"frames"`
	Sites   []site   `json:"sites"`
}

type meta struct {
	Recorded  time.Time         `json:"recorded,omitzero"`
	Saved     time.Time         `json:"saved,omitzero"`
	Workload  string            `json:"workload,omitempty"`
	Command   []string          `json:"command,omitempty"`
	BuildID   string            `json:"build_id,omitempty"`
	Program   string            `json:"program,omitempty"`
	Format    string            `json:"format"`
	Period    int64             `json:"period,omitempty"`
	Method    string            `json:"method,omitempty"`
	Engine    string            `json:"engine,omitempty"`
	Snapshots int               `json:"snapshots"`
	Span      float64           `json:"span_seconds,omitempty"`
	Processes int               `json:"processes,omitempty"`
	Work      float64           `json:"work,omitempty"`
	HasAlloc  bool              `json:"has_alloc"`
	AbsentMax int64             `json:"absent_max_bytes,omitempty"`
	Failure   string            `json:"failure,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Notes     []string          `json:"notes,omitempty"`
}

type level struct {
	Bytes        float64 `json:"bytes,omitempty"`
	Objects      float64 `json:"objects,omitempty"`
	Peak         float64 `json:"peak_bytes,omitempty"`
	Slope        float64 `json:"bytes_per_hour,omitempty"`
	SlopeError   float64 `json:"bytes_per_hour_error,omitempty"`
	AllocBytes   float64 `json:"alloc_bytes,omitempty"`
	AllocObjects float64 `json:"alloc_objects,omitempty"`
	Noise        float64 `json:"noise_bytes,omitempty"`
	Swing        float64 `json:"swing_bytes,omitempty"`
}

// site is a Site. Stack has indices of Frames, Names of Strings.
type site struct {
	level
	Place       string `json:"place,omitempty"`
	Names       []int  `json:"names"`
	NamesBlame  int    `json:"names_blame"`
	Stack       []int  `json:"stack"`
	FrameBlamed int    `json:"stack_blame"`
	Holder      string `json:"holder,omitempty"`
}

// interner numbers values in order of first appearance.
type interner[T comparable] struct {
	list  []T
	index map[T]int
}

func (in *interner[T]) number(v T) int {
	if i, ok := in.index[v]; ok {
		return i
	}
	if in.index == nil {
		in.index = map[T]int{}
	}
	in.index[v] = len(in.list)
	in.list = append(in.list, v)
	return len(in.list) - 1
}

// documentOf converts a run. The name of a run is that of its file, and is not in it.
func documentOf(r *Run) *document {
	var names interner[string]
	var frames interner[[4]int]
	d := &document{Schema: schema, Meta: metaOf(r.Meta), Total: level(r.Total), Rest: level(r.Rest), Sites: []site{}}
	for i := range r.Sites {
		s := &r.Sites[i]
		out := site{
			level: level(s.Level), Place: s.Identity.Place, Names: []int{}, NamesBlame: s.Identity.Blame,
			Stack: []int{}, FrameBlamed: s.Blame, Holder: s.Holder,
		}
		for _, n := range s.Identity.Frames {
			out.Names = append(out.Names, names.number(n))
		}
		for _, f := range s.Frames {
			frame := [4]int{names.number(f.Function), names.number(f.Module), names.number(f.File), f.Line}
			out.Stack = append(out.Stack, frames.number(frame))
		}
		d.Sites = append(d.Sites, out)
	}
	d.Strings, d.Frames = append([]string{}, names.list...), append([][4]int{}, frames.list...)
	return d
}

func metaOf(m Meta) meta {
	return meta{
		m.Recorded, m.Saved, m.Workload, m.Command, m.BuildID, m.Program, m.Format, m.Period, m.Method, m.Engine,
		m.Snapshots, m.Span, m.Processes, m.Work, m.HasAlloc, m.AbsentMax, m.Failure, m.Labels, m.Notes,
	}
}

func (m meta) meta(name string) Meta {
	return Meta{
		name, m.Recorded, m.Saved, m.Workload, m.Command, m.BuildID, m.Program, m.Format, m.Period, m.Method, m.Engine,
		m.Snapshots, m.Span, m.Processes, m.Work, m.HasAlloc, m.AbsentMax, m.Failure, m.Labels, m.Notes,
	}
}

// run is the inverse of documentOf. It checks every index.
func (d *document) run(name string) (*Run, error) {
	r := &Run{Meta: d.Meta.meta(name), Total: Level(d.Total), Rest: Level(d.Rest)}
	frames := make([]symbolize.Frame, len(d.Frames))
	for i, f := range d.Frames {
		for _, s := range f[:3] {
			if s < 0 || s >= len(d.Strings) {
				return nil, fmt.Errorf("frame %d refers to string %d of %d", i, s, len(d.Strings))
			}
		}
		frames[i] = symbolize.Frame{Function: d.Strings[f[0]], Module: d.Strings[f[1]], File: d.Strings[f[2]], Line: f[3]}
	}
	for i := range d.Sites {
		s, err := d.site(&d.Sites[i], frames)
		if err != nil {
			return nil, fmt.Errorf("site %d: %w", i, err)
		}
		r.Sites = append(r.Sites, s)
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	return r, nil
}

func (d *document) site(in *site, frames []symbolize.Frame) (Site, error) {
	names, err := pick(in.Names, d.Strings)
	if err != nil {
		return Site{}, fmt.Errorf("names: %w", err)
	}
	stack, err := pick(in.Stack, frames)
	if err != nil {
		return Site{}, fmt.Errorf("stack: %w", err)
	}
	if in.NamesBlame < -1 || in.NamesBlame >= len(names) || in.FrameBlamed < -1 || in.FrameBlamed >= len(stack) {
		return Site{}, errors.New("the frame to blame is not on the stack")
	}
	id := identity.Site{Place: in.Place, Frames: names, Blame: in.NamesBlame}
	return Site{Level(in.level), id, stack, in.FrameBlamed, in.Holder}, nil
}

func pick[T any](indices []int, table []T) ([]T, error) {
	if len(indices) > maxDepth {
		return nil, fmt.Errorf("%d frames, at most %d are allowed", len(indices), maxDepth)
	}
	var out []T
	for _, i := range indices {
		if i < 0 || i >= len(table) {
			return nil, fmt.Errorf("entry %d of a table of %d", i, len(table))
		}
		out = append(out, table[i])
	}
	return out, nil
}

// encode returns the content of a run's file, before compression.
func encode(r *Run) ([]byte, error) { return json.Marshal(documentOf(r)) }

// Write writes a run as a baseline file. The output is deterministic.
func Write(w io.Writer, r *Run) error {
	content, err := encode(r)
	if err != nil {
		return err
	}
	return compress(w, content)
}

func compress(w io.Writer, content []byte) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = z.Write(content)
	return errors.Join(err, z.Close())
}

// Load reads a baseline file. An error names the file and the remedy.
func Load(path string) (*Run, error) {
	f, _, err := infile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, path)
}

// Read reads a baseline. path names it in errors, and its base is the name of the run.
func Read(r io.Reader, path string) (*Run, error) {
	content, err := decompress(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var d document
	if err := decode(content, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	run, err := d.run(NameOf(path))
	if err != nil {
		return nil, fmt.Errorf("%s: damaged: %w; remove it, or save the run again", path, err)
	}
	return run, nil
}

// NameOf returns the name of the baseline at a path.
func NameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), Suffix) }

// decompress reads the content of a gzip'ed file, up to maxContent bytes.
func decompress(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("not a baseline: not gzip'ed: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(z, maxContent+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("truncated: it ends early; remove it, or save the run again")
	case err != nil:
		return nil, fmt.Errorf("damaged: %w; remove it, or save the run again", err)
	case len(content) > maxContent:
		return nil, fmt.Errorf("not a baseline: more than %d MiB", maxContent>>20)
	}
	return content, nil
}

// decode parses the document. It checks the version first, because another version may have other
// fields.
func decode(content []byte, d *document) error {
	var version struct {
		Schema string `json:"schema"`
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(content, &version); errors.As(err, &syntax) {
		return fmt.Errorf("damaged: at byte %d of its content: %w; remove it, or save the run again", syntax.Offset, err)
	}
	if version.Schema != schema {
		const format = "schema %q, want %q: written by another version of heaplapse; save the run again with this one"
		return fmt.Errorf(format, version.Schema, schema)
	}
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(d); err != nil {
		return fmt.Errorf("damaged: %w; remove it, or save the run again", err)
	}
	return nil
}
