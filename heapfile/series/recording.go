package series

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/spool"
)

// Recording is the snapshots at some paths, by the process that wrote them.
type Recording struct {
	// Processes are those that wrote snapshots, at least one.
	Processes []Process
	// Main is the index of the process that is most likely meant: the one whose heap grew most in
	// the later half of its snapshots or, if none grew, of those with enough snapshots the one with
	// the largest heap.
	Main int
	// Problems are the paths that could not be used.
	Problems []Problem
	// Warnings concern the recording as a whole.
	Warnings []heapfile.Warning

	mainFor string // the reason why Main was chosen
	known   manifests
	found   []sourceFile // in the order in which they were found
	spool   []*spool.Spool
}

// Find finds the snapshots at paths, as [Open] does, and does not read them; with several
// processes, it reads their headers. The error is not nil only if nothing could be used. The caller
// must close the recording.
func Find(paths []string, o Options) (*Recording, error) {
	d := find(paths, o)
	found := d.files
	warnings, err := d.expand(o)
	r := &Recording{found: found, Problems: d.problems, spool: d.spool, known: manifests{}}
	if err != nil {
		r.Close()
		return nil, err
	}
	r.Processes = r.usable(d.processes(r.known, o.Check), o.Check)
	r.Warnings = append(warnings, r.known.warnings(r.Processes)...)
	if len(r.Processes) == 0 {
		err := nothing(paths, r.Problems)
		r.Close()
		return nil, err
	}
	if len(r.Processes) > 1 {
		r.Main, r.mainFor = preferred(r.Processes)
	}
	return r, nil
}

// ErrNoProcess is wrapped by the error of a process that wrote no snapshots.
var ErrNoProcess = errors.New("no process")

// UnusableError is the error of paths or of a process without usable snapshots.
type UnusableError struct {
	// Problems are the reasons, at least one.
	Problems []Problem
}

func (e *UnusableError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the errors of the problems.
func (e *UnusableError) Unwrap() (errs []error) {
	for _, p := range e.Problems {
		errs = append(errs, p.Err)
	}
	return errs
}

// nothing returns the error of paths without snapshots.
func nothing(paths []string, problems []Problem) error {
	if len(problems) == 0 {
		return fmt.Errorf("%s: %w", strings.Join(paths, " "), ErrNoSnapshots)
	}
	return &UnusableError{problems}
}

// Close removes the copies of standard input and pipes. The series of the recording cannot be read
// again then.
func (r *Recording) Close() error {
	var errs []error
	for _, copied := range r.spool {
		errs = append(errs, copied.Close())
	}
	r.spool = nil
	return errors.Join(errs...)
}

// usable reads the headers of all files if there are several processes: the size of the heaps may
// decide which one is meant, and files that are not snapshots must be reported whichever is read.
func (r *Recording) usable(processes []Process, check func(more int64) error) []Process {
	if len(processes) < 2 {
		return processes
	}
	for i := range processes {
		p := &processes[i]
		var inuse []int64
		p.files = slices.DeleteFunc(p.files, func(f sourceFile) bool {
			if err := f.summarize(check); err != nil {
				r.Problems = append(r.Problems, Problem{Path: f.Path, Err: err, Named: f.Named})
				return true
			}
			inuse = append(inuse, f.summary.Total.InuseBytes)
			p.PeakInuse = max(p.PeakInuse, f.summary.Total.InuseBytes)
			p.Goroutines = f.summary.Format == heapfile.FormatGoroutines
			return false
		})
		p.Files, p.laterGrowth = len(p.files), laterGrowth(inuse)
	}
	return slices.DeleteFunc(processes, func(p Process) bool { return p.Files == 0 })
}

// Choose returns the index of the process with a number or a prefix; the last element of a prefix
// is enough.
func (r *Recording) Choose(process string) (int, error) {
	i := slices.IndexFunc(r.Processes, func(p Process) bool { return p.matches(process) })
	if i < 0 {
		return 0, fmt.Errorf("%w %q; there are: %s", ErrNoProcess, process, joinProcesses(r.Processes))
	}
	return i, nil
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

// Open reads the snapshots of a process, given its index. The error is an [*UnusableError] if none
// is usable. The problems and warnings of the recording are not those of the series.
func (r *Recording) Open(process int, o Options) (*Series, error) {
	s := r.series(process, o)
	return s.readAll(r, o)
}

// OpenOne reads the snapshots of the process that the options choose. The series has the problems
// and warnings of the recording and, unless the options choose a process, a warning of those that
// are ignored. The error is not nil only if nothing could be used.
func (r *Recording) OpenOne(o Options) (*Series, error) {
	chosen := r.Main
	if o.Process != "" {
		var err error
		if chosen, err = r.Choose(o.Process); err != nil {
			return nil, err
		}
	}
	s := r.series(chosen, o)
	s.Problems, s.Warnings = slices.Clone(r.Problems), slices.Clone(r.Warnings)
	if o.Process == "" && len(s.Others) > 0 {
		s.Chosen = r.mainFor
		s.warnOthers()
	}
	return s.readAll(r, o)
}

func (r *Recording) series(process int, o Options) *Series {
	p := r.Processes[process]
	return &Series{
		Process: p, Others: slices.Delete(slices.Clone(r.Processes), process, process+1),
		Stacks: &StackTable{}, Symbols: map[Place]heapfile.Symbol{},
		files: p.files, found: r.found, check: o.Check, ages: o.Ages,
	}
}

func (s *Series) readAll(r *Recording, o Options) (*Series, error) {
	if err := s.scan(o); err != nil {
		return nil, err
	}
	if len(s.Heads) == 0 {
		return nil, &UnusableError{s.Problems}
	}
	s.Clock = newClock(s.Heads, s.useManifest(r.known.of(s.files[0])))
	s.Triggers = inferTriggers(s.Heads, s.Clock)
	for _, h := range s.Heads {
		h.HasAlloc = h.HasAlloc && !s.hasLimit()
	}
	s.warn()
	return s, nil
}
