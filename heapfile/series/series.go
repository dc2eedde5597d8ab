package series

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/spool"
)

// Options control how a series is read. The zero value works.
type Options struct {
	// Process chooses one of several processes in a directory: its number, or its prefix (the last
	// element is enough). If it is "", the recorded program is chosen if it wrote at least half as
	// many snapshots as any other process, else the process that wrote most; without a manifest,
	// the process with the largest heap.
	Process string
	// Sources are further files, besides those of the paths. FS contains them; nil is this machine.
	Sources []Source
	FS      fs.FS
	// Workers is the number of files to read at once; 0 means one per CPU.
	Workers int
	// Stdin is read for the path "-".
	Stdin io.Reader
	// Waiting, if not nil, is called with the path of a pipe that has delivered nothing for a second.
	Waiting func(path string)
	// Check, if not nil, is called for each MiB that is read, also by later passes. Its error ends the
	// reading. It must be safe for concurrent use.
	Check func() error
	// Progress, if not nil, is called after each file with the number of files that were read and
	// the number of all files.
	Progress func(done, all int)
	// Visit, if not nil, is called with each snapshot in order while it is read. The Samples are
	// valid only until Visit returns. Clock and Warnings of the series are not known yet.
	Visit func(*Snapshot) error
}

// Series is the snapshots of one process, in order. Their rows are not held: [Series.All] and
// [Series.Read] read them again. A Series does not change after [Open].
type Series struct {
	Process Process
	// Others are the processes whose snapshots were left out.
	Others []Process
	// Heads are the snapshots without their rows.
	Heads []*Head
	// RSS is the resident set size of the process at each snapshot, and PSS its proportional set
	// size, in bytes. An entry is nil if the manifest does not have it; both are nil if there is no
	// manifest.
	RSS, PSS []*int64
	// CPU is the time that the threads of the process had run until each snapshot, in nanoseconds.
	// Entries, and CPU as a whole, are nil as those of RSS.
	CPU    []*int64
	Stacks *StackTable
	// Spaces are indexed by Space.
	Spaces []AddressSpace
	// Symbols are the function names that symbolized snapshots contain.
	Symbols map[Place][]string
	// BuildIDs are the build IDs that the manifest has, by path of the mapped file.
	BuildIDs map[string]string
	// Mapped are the mapped files that the manifest has, by path.
	Mapped map[string]manifest.Mapping
	// Manifest is what the recorder wrote; nil if there is none.
	Manifest *manifest.Manifest
	Clock    Clock
	// Triggers are the reasons why the snapshots were taken, read from the names or inferred.
	Triggers []Trigger
	// Problems are the paths that could not be used.
	Problems []Problem
	// Warnings concern the series as a whole; those of single files are in Heads.
	Warnings []heapfile.Warning

	files []sourceFile // of Heads
	found []sourceFile // all, in the order in which they were found
	spool []*spool.Spool
	check func() error // may be nil
	// chosenFor is the reason why this process was chosen among several.
	chosenFor string
}

// Head is a snapshot of a series without its rows.
type Head struct {
	heapfile.Head
	// File is what the name of the file says, completed by the manifest.
	File FileName
	// Index is the position in the series, from 0.
	Index int
	// Image numbers the process images of the series, from 0. A process image lasts from an exec or
	// fork to the next one or to the end of the process.
	Image int
}

// Snapshot is a snapshot of a series with its rows.
type Snapshot struct {
	*Head
	Samples []heapfile.Sample
	// Stacks holds the stacks that Samples refer to: those of the series.
	Stacks *StackTable
}

// Place is an address in a process image.
type Place struct {
	Image int
	Addr  heapfile.Addr
}

// Open finds and reads the snapshots at paths: directories, files, prefixes (/tmp/profile for
// /tmp/profile.0001.heap …), globs and - for standard input. Files that cannot be used are in
// Problems; the error is not nil only if nothing could be used. The caller must close the series.
func Open(paths []string, o Options) (*Series, error) {
	d := discovery{stdin: o.Stdin, waiting: o.Waiting}
	d.addAll(paths)
	d.addSources(o.Sources, o.FS)
	s := &Series{
		found:    d.files,
		Problems: d.problems,
		Stacks:   &StackTable{},
		spool:    d.spool,
		check:    o.Check,
		Symbols:  map[Place][]string{},
	}
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

// nothing returns the error of a series without snapshots.
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

// Close removes the copies of standard input and pipes.
func (s *Series) Close() error {
	var errs []error
	for _, copied := range s.spool {
		errs = append(errs, copied.Close())
	}
	s.spool = nil
	return errors.Join(errs...)
}

func (s *Series) read(d *discovery, o Options) error {
	known := manifests{}
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
	s.Clock = newClock(s.Heads, s.useManifest(known.of(s.files[0])))
	s.Triggers = inferTriggers(s.Heads, s.Clock)
	s.warn()
	return nil
}

// choose selects the requested process, or the most likely one.
func (s *Series) choose(processes []Process, want string, known manifests) error {
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
	return (p.PID != 0 && want == fmt.Sprint(p.PID)) || want == p.String() || want == p.Prefix ||
		want == filepath.Base(p.Prefix)
}

func joinProcesses(list []Process) string {
	var names []string
	for _, p := range list {
		names = append(names, p.Title())
	}
	return strings.Join(names, ", ")
}

// usable reads the headers of all files if there are several processes: the size of the heaps may
// decide which one is chosen, and files that are not snapshots must be reported whichever is
// chosen.
func (s *Series) usable(processes []Process) []Process {
	if len(processes) < 2 {
		return processes
	}
	for i := range processes {
		p := &processes[i]
		p.files = slices.DeleteFunc(p.files, func(f sourceFile) bool {
			total, err := heapfile.ReadTotal(f.fs, f.entry, f.path)
			if err != nil {
				s.Problems = append(s.Problems, Problem{Path: f.path, Err: err, Named: f.named})
			}
			p.PeakInuse = max(p.PeakInuse, total.InuseBytes)
			return err != nil
		})
		p.Files = len(p.files)
	}
	return slices.DeleteFunc(processes, func(p Process) bool { return p.Files == 0 })
}

// PID returns the process that wrote the series, or 0 if neither the names nor a manifest have it.
func (s *Series) PID() int {
	for _, h := range s.Heads {
		if h.File.PID != 0 {
			return h.File.PID
		}
	}
	return 0
}

// Thinned returns the number of snapshots of this process that the recorder removed to limit their
// number.
func (s *Series) Thinned() (n int) {
	for _, d := range s.dropped() {
		if d.Reason == manifest.DropThinned {
			n++
		}
	}
	return n
}

// dropped returns the snapshots of this process that the recorder removed.
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

// Sources returns all files that were found, including unusable ones and those of other processes.
func (s *Series) Sources() []Source {
	var out []Source
	for _, f := range dropDuplicates(s.found) {
		entry := f.entry
		if _, copied := f.fs.(*spool.Spool); copied {
			entry = ""
		}
		out = append(out, Source{Path: f.path, Entry: entry, Named: f.named})
	}
	return out
}

// Dir returns the directory of the snapshots.
func (s *Series) Dir() string { return filepath.Dir(s.files[0].path) }
