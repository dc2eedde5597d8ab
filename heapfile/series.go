package heapfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// Options say how a series is read. The zero value works.
type Options struct {
	// Process picks one of several processes in a directory: its number, or
	// its prefix (the last element is enough). "" takes the program that was recorded, if it wrote at least half as
	// many snapshots as any, else the one that wrote most; without a sidecar the one with most bytes.
	Process string
	// Sources are further files, besides those of the paths.
	Sources []Source
	// Workers is the number of files read at once; 0 takes one per CPU.
	Workers int
	// Stdin is read for the path "-".
	Stdin io.Reader
	// Progress, if set, is called after each file with the number of files done and of all.
	Progress func(done, all int)
	// Visit, if set, is called with each snapshot in order as it is read: see
	// [Series.Each]. Clock and Warnings are not known yet then.
	Visit func(*Snapshot) error
}

// Series is the snapshots of one process, in order. Rows are not held: Each
// reads them again. All else is immutable after Open.
type Series struct {
	Process Process
	// Others are the processes whose snapshots were left out.
	Others []Process
	// Heads are the snapshots without their rows and mappings.
	Heads []*Snapshot
	// RSS is the resident set of the process at each snapshot, in bytes; nil
	// entries where the sidecar does not tell. nil without a sidecar.
	RSS    []*int64
	Stacks *StackTable
	// Spaces are indexed by Space.
	Spaces []AddressSpace
	// Symbols are the names that symbolized snapshots bring along, per address.
	Symbols map[Addr][]string
	// BuildIDs are what the sidecar recorded, by path of the mapped file.
	BuildIDs map[string]string
	// Mapped are the files that were mapped, as the sidecar recorded them, by path.
	Mapped map[string]manifest.Mapping
	// Manifest is the whole sidecar; nil where there is none.
	Manifest *manifest.Manifest
	Clock    Clock
	// Triggers say why each snapshot was taken, read from the names or inferred.
	Triggers []Trigger
	// Problems are the paths that could not be used.
	Problems []Problem
	// Warnings of the series as a whole; those of single files are in Heads.
	Warnings []Warning

	files []sourceFile // of Heads
	found []sourceFile // all, in the order in which they were found
	spool []string
	// chosenFor is why this process was taken, of several.
	chosenFor string
}

// Open finds and reads the snapshots of paths: directories, files, prefixes
// (/tmp/profile for /tmp/profile.0001.heap …), globs and - for standard input. Files that
// cannot be used are in Problems; the error is not nil only if nothing could
// be used. The caller must Close the series.
func Open(paths []string, o Options) (*Series, error) {
	d := discovery{stdin: o.Stdin}
	d.addAll(paths)
	d.addSources(o.Sources)
	s := &Series{found: d.files, Problems: d.problems, Stacks: &StackTable{}, spool: d.spool, Symbols: map[Addr][]string{}}
	err := s.read(&d, o)
	if err == nil && len(s.Heads) == 0 {
		err = s.nothing(paths)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// nothing is the error of a series without snapshots.
func (s *Series) nothing(paths []string) error {
	var errs []error
	for _, p := range s.Problems {
		errs = append(errs, p.Err)
	}
	if len(errs) == 0 {
		return fmt.Errorf("%s: %w", strings.Join(paths, " "), ErrNoSnapshots)
	}
	return errors.Join(errs...)
}

// Close removes what was kept of standard input.
func (s *Series) Close() error {
	var errs []error
	for _, f := range s.spool {
		errs = append(errs, os.Remove(f))
	}
	s.spool = nil
	return errors.Join(errs...)
}

func (s *Series) read(d *discovery, o Options) error {
	known := sidecars{}
	processes := s.usable(d.processes(known))
	s.Warnings = append(s.Warnings, known.warnings()...)
	if len(processes) == 0 {
		return nil
	}
	if err := s.choose(processes, o.Process, known); err != nil {
		return err
	}
	if err := s.scan(o); err != nil || len(s.Heads) == 0 {
		return err
	}
	s.Clock = newClock(s.Heads, s.useSidecar(known.of(s.files[0])))
	s.Triggers = inferTriggers(s.Heads, s.Clock)
	s.warn()
	return nil
}

// choose takes the process that was asked for, or else the one that is most likely meant.
func (s *Series) choose(processes []Process, want string, known sidecars) error {
	chosen := 0
	switch {
	case want != "":
		chosen = slices.IndexFunc(processes, func(p Process) bool { return p.matches(want) })
		if chosen < 0 {
			return fmt.Errorf("no process %q; there are: %s", want, joinProcesses(processes))
		}
	case len(processes) > 1:
		chosen, s.chosenFor = preferred(processes, known.of(processes[0].files[0]))
	}
	s.Process = processes[chosen]
	s.files = s.Process.files
	s.Others = slices.Delete(slices.Clone(processes), chosen, chosen+1)
	return nil
}

func (p Process) matches(want string) bool {
	return (p.PID != 0 && want == fmt.Sprint(p.PID)) || want == p.String() || want == p.Prefix || want == filepath.Base(p.Prefix)
}

func joinProcesses(list []Process) string {
	var names []string
	for _, p := range list {
		names = append(names, p.Title())
	}
	return strings.Join(names, ", ")
}

// usable reads the headers of all files, where there is a choice of processes:
// what is no snapshot must be reported whichever process is taken, and the size
// of the heaps decides.
func (s *Series) usable(processes []Process) []Process {
	if len(processes) < 2 {
		return processes
	}
	var d decoder
	for i := range processes {
		p := &processes[i]
		p.files = slices.DeleteFunc(p.files, func(f sourceFile) bool {
			bytes, err := d.headerInuse(f)
			if err != nil {
				s.Problems = append(s.Problems, Problem{Path: f.path, Err: err, Named: f.named})
			}
			p.PeakInuse = max(p.PeakInuse, bytes)
			return err != nil
		})
		p.Files = len(p.files)
	}
	return slices.DeleteFunc(processes, func(p Process) bool { return p.Files == 0 })
}

// scan reads all files once.
func (s *Series) scan(o Options) error {
	m := merger{series: s, visit: o.Visit}
	done, all := 0, len(s.files)
	err := decodeAll(s.files, o.Workers, func(d decoded) error {
		if done++; o.Progress != nil {
			o.Progress(done, all)
		}
		return m.deliver(d)
	})
	if err != nil {
		return err
	}
	s.Spaces = m.spaces.list
	s.files = m.files
	return m.finish()
}

// Each reads the files again, in order, and calls visit with each snapshot. The snapshot and its
// Samples are valid only until visit returns; an error of visit ends the pass.
func (s *Series) Each(workers int, visit func(*Snapshot) error) error {
	m := merger{series: s, visit: visit, again: true}
	return decodeAll(s.files, workers, m.deliver)
}

// One reads one snapshot again.
func (s *Series) One(index int, visit func(*Snapshot) error) error {
	m := merger{series: s, visit: visit, again: true, base: index}
	return decodeAll(s.files[index:index+1], 1, m.deliver)
}

// merger brings the outcomes of the workers into one numbering.
type merger struct {
	series *Series
	visit  func(*Snapshot) error
	again  bool // a further pass: images and spaces are known
	base   int  // of a further pass: the first file's place in the series
	spaces spaces
	ids    []idMap // by worker
	files  []sourceFile
	// partial is a snapshot without an end. It counts only if a later one follows.
	partial *Snapshot
}

func (m *merger) deliver(d decoded) error {
	if d.err != nil {
		return m.failed(d)
	}
	if err := m.flush(); err != nil {
		return err
	}
	space := m.place(d.snap, d.index)
	for len(m.ids) <= d.worker {
		m.ids = append(m.ids, idMap{})
	}
	d.snap.Stacks = m.series.Stacks
	m.ids[d.worker].apply(d.snap, d.stacks, m.series.Stacks, uint64(d.snap.Epoch), space)
	if m.again {
		return m.visit(d.snap)
	}
	m.files = append(m.files, m.series.files[d.index])
	if d.snap.Completeness.Partial {
		kept := *d.snap
		kept.Samples = slices.Clone(d.snap.Samples)
		m.partial = &kept
		return nil
	}
	return m.accept(d.snap)
}

// place says which image and space a snapshot belongs to.
func (m *merger) place(s *Snapshot, file int) Space {
	if m.again {
		head := m.series.Heads[m.base+file]
		s.Index, s.Epoch = head.Index, head.Epoch
		return Space(len(m.series.Spaces) - 1)
	}
	return m.spaces.next(s)
}

func (m *merger) failed(d decoded) error {
	if m.again {
		return d.err
	}
	f := m.series.files[d.index]
	m.series.Problems = append(m.series.Problems, Problem{Path: f.path, Err: d.err, Named: f.named})
	return nil
}

func (m *merger) accept(s *Snapshot) error {
	series := m.series
	s.Index = len(series.Heads)
	for _, sym := range s.Symbols {
		series.Symbols[sym.Addr] = sym.Names
	}
	head := headOf(s)
	head.Mappings, head.Symbols = nil, nil
	series.Heads = append(series.Heads, head)
	if m.visit == nil {
		return nil
	}
	return m.visit(s)
}

// flush accepts the partial snapshot before the one that follows it.
func (m *merger) flush() error {
	p := m.partial
	if p == nil {
		return nil
	}
	m.partial = nil
	return m.accept(p)
}

// finish decides on a partial snapshot at the end: it is left out, for it may
// still be written, unless it is all there is.
func (m *merger) finish() error {
	p := m.partial
	if p == nil {
		return nil
	}
	if len(m.series.Heads) == 0 {
		return m.flush()
	}
	m.series.files = m.series.files[:len(m.series.files)-1]
	m.series.Warnings = append(m.series.Warnings, Warning{Kind: WarnPartial, File: p.Path, Count: 1,
		Msg: "left out: it ends before its mappings, so it is still being written, or was cut off"})
	return nil
}

// renamed puts the name that the user knows into the error of a spooled file.
func renamed(err error, f sourceFile) error {
	if f.open == f.path {
		return err
	}
	var format *FormatError
	var syntax *SyntaxError
	switch {
	case errors.As(err, &format):
		format.File = f.path
	case errors.As(err, &syntax):
		syntax.File = f.path
	}
	return err
}

// PID is the process that wrote the series, 0 if neither names nor a sidecar tell.
func (s *Series) PID() int {
	for _, h := range s.Heads {
		if h.File.PID != 0 {
			return h.File.PID
		}
	}
	return 0
}

// Thinned is how many snapshots of this process the recorder removed to keep so many.
func (s *Series) Thinned() (n int) {
	for _, d := range s.dropped() {
		if d.Reason == manifest.DropThinned {
			n++
		}
	}
	return n
}

// dropped are the snapshots of this process that the recorder removed.
func (s *Series) dropped() (out []manifest.Drop) {
	if s.Manifest == nil {
		return nil
	}
	for _, d := range s.Manifest.Dropped {
		if ParseFileName(d.File).PID == s.Process.PID {
			out = append(out, d)
		}
	}
	return out
}

// Sources are all files that were found, those of other processes and unusable ones included.
func (s *Series) Sources() []Source {
	var out []Source
	for _, f := range dropDuplicates(s.found) {
		out = append(out, Source{Path: f.path, Open: f.open, Named: f.named})
	}
	return out
}

// Dir is the directory of the snapshots.
func (s *Series) Dir() string { return filepath.Dir(s.files[0].path) }
