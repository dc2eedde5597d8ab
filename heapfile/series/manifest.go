package series

import (
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/internal/discover"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// recorded is the manifest of one directory. Manifest is nil if it has none.
type recorded struct {
	*manifest.Manifest
	err       error
	snapshots map[string]manifest.Snapshot // by base name, without compression suffix
}

// manifests are the manifests of the directories of some files. Each is loaded once.
type manifests map[directory]*recorded

// directory is the directory of a file in a file system.
type directory struct {
	fs   fs.FS
	path string
}

func directoryOf(f sourceFile) directory { return directory{f.FS, filepath.Dir(f.Entry)} }

// of returns the manifest of the directory of a file.
func (k manifests) of(f sourceFile) *recorded {
	dir := directoryOf(f)
	if s, ok := k[dir]; ok {
		return s
	}
	s := &recorded{snapshots: map[string]manifest.Snapshot{}}
	s.Manifest, s.err = loadManifest(f)
	if s.Manifest != nil {
		for _, r := range s.Snapshots {
			s.snapshots[r.File] = amended(s.snapshots[r.File], r)
		}
	}
	k[dir] = s
	return s
}

// amended returns what is known of a file after a second record. A record of the same moment adds
// to the first; a record of another moment is about a file that replaced the first.
func amended(first, second manifest.Snapshot) manifest.Snapshot {
	if !second.Time.Equal(first.Time) {
		return second
	}
	second.PID = cmp.Or(second.PID, first.PID)
	second.Trigger = cmp.Or(second.Trigger, first.Trigger)
	second.RSS, second.PSS = cmp.Or(second.RSS, first.RSS), cmp.Or(second.PSS, first.PSS)
	second.CPU = cmp.Or(second.CPU, first.CPU)
	return second
}

// loadManifest reads the manifest beside a file; nil if there is none.
func loadManifest(f sourceFile) (*manifest.Manifest, error) {
	called := filepath.Join(filepath.Dir(f.Path), manifest.Name)
	in, err := f.FS.Open(filepath.Join(filepath.Dir(f.Entry), manifest.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, discover.ReadError(called, err)
	}
	defer in.Close()
	return manifest.Read(in, called)
}

// snapshot returns what the recorder noted of a file.
func (s *recorded) snapshot(path string) (manifest.Snapshot, bool) {
	r, ok := s.snapshots[filename.TrimCompression(filepath.Base(path))]
	return r, ok
}

// warnings returns a warning for each manifest that cannot be used, and one for each that has
// processes that were not recorded. The given processes have snapshots.
func (k manifests) warnings(processes []Process) (out []heapfile.Warning) {
	wrote := func(pid int) bool {
		return slices.ContainsFunc(processes, func(p Process) bool { return p.PID == pid })
	}
	for _, s := range k {
		kind, text := heapfile.WarnRecording, ""
		if s.Manifest != nil {
			text = s.Refused(wrote)
		}
		if s.err != nil {
			kind, text = heapfile.WarnManifest, s.err.Error()+"; the manifest is not used"
		}
		if text != "" {
			out = append(out, heapfile.Warning{Kind: kind, Count: 1, Msg: text})
		}
	}
	slices.SortFunc(out, func(a, b heapfile.Warning) int { return strings.Compare(a.Msg, b.Msg) })
	return out
}

// owners sets the process that wrote each file, if the recorder noted it and the name does not have
// it. A file that the recorder has not noted belongs to the process of the previous file with the
// same prefix.
func (k manifests) owners(files []sourceFile) {
	type group struct {
		directory
		prefix string
	}
	noted := map[group]int{} // the last PID
	for i := range files {
		f := &files[i]
		if r, ok := k.of(*f).snapshot(f.Path); ok && r.PID != 0 {
			f.Name.PID = r.PID
		}
		switch key := (group{directoryOf(*f), f.Name.Prefix}); {
		case f.Name.Seq < 0:
		case f.Name.PID != 0:
			noted[key] = f.Name.PID
		default:
			f.Name.PID = noted[key]
		}
	}
}

// describe adds what the manifest says of a process.
func (s *recorded) describe(p *Process) {
	if s.Manifest == nil || p.PID == 0 {
		return
	}
	for _, r := range s.Processes { // the last entry counts: a process may have called exec
		if r.PID == p.PID {
			p.Command, p.Exe, p.Link, p.parent = r.Command, r.Exe, r.Link, r.Parent
		}
	}
	p.End = s.Manifest.EndOf(p.PID)
}

// useManifest adds what the manifest says of the series. It returns the times of the snapshots, or
// nil unless all have one.
func (s *Series) useManifest(known *recorded) []time.Time {
	if known.Manifest == nil {
		return nil
	}
	s.Manifest = known.Manifest
	s.BuildIDs, s.Mapped = map[string]string{}, map[string]manifest.Mapping{}
	for _, f := range known.Mappings {
		s.BuildIDs[f.Path] = f.BuildID
		s.Mapped[f.Path] = f
	}
	var times []time.Time
	s.RSS, s.PSS, s.CPU = make([]*int64, len(s.Heads)), make([]*int64, len(s.Heads)), make([]*int64, len(s.Heads))
	for i, h := range s.Heads {
		r, ok := known.snapshot(h.Path)
		if !ok {
			continue
		}
		times = append(times, r.Time)
		s.RSS[i], s.PSS[i], s.CPU[i] = r.RSS, r.PSS, r.CPU
		h.File.PID = cmp.Or(r.PID, h.File.PID)
		if t, ok := filename.ParseTrigger(r.Trigger); ok {
			h.File.Trigger = t
		}
	}
	if len(times) != len(s.Heads) {
		return nil
	}
	return times
}

// ResidentAt returns the resident set size of the process at a snapshot, in bytes, if it was
// recorded.
func (s *Series) ResidentAt(index int) (bytes int64, ok bool) {
	return recordedAt(s.RSS, index)
}

// ProportionalAt is the proportional set size of the process at a snapshot, in bytes, if it was
// recorded: its private memory and, of each page that n processes share, one n-th.
func (s *Series) ProportionalAt(index int) (bytes int64, ok bool) {
	return recordedAt(s.PSS, index)
}

// ProcessorTimeAt returns the time that all threads of the process had run until a snapshot, if it
// was recorded.
func (s *Series) ProcessorTimeAt(index int) (time.Duration, bool) {
	ns, ok := recordedAt(s.CPU, index)
	return time.Duration(ns), ok
}

func recordedAt(column []*int64, index int) (bytes int64, ok bool) {
	if index < 0 || index >= len(column) || column[index] == nil {
		return 0, false
	}
	return *column[index], true
}

// Ended returns how the process ended, or nil if that was not recorded; the process may still run.
// of is the process whose end it is: the process itself, a shell that started it and waited for it,
// or 0 for the recording as a whole.
func (s *Series) Ended() (end *manifest.End, of int) {
	if s.Process.End != nil || s.Manifest == nil {
		return s.Process.End, s.Process.PID
	}
	if len(s.Others) > 0 {
		return nil, 0 // processes of a recording end at different times
	}
	if parent := s.Process.parent; parent != 0 {
		if end := s.Manifest.EndOf(parent); end != nil {
			return end, parent
		}
	}
	return s.RecordingEnd(), 0
}

// Shutdown returns when the program began to end: the recorder sent it a signal that ends programs,
// or it was about to run its exit handlers. It is zero if that is unknown, or if the program ran on
// for longer than it was recorded before: it may have handled the signal otherwise. The recorder itself may have kept
// it waiting for a look at what holds the memory.
func (s *Series) Shutdown() time.Time {
	const look = 3 * time.Second // the wait, and what the machine adds
	if s.Manifest == nil || s.Clock.Source != ClockManifest {
		return time.Time{}
	}
	for i := range s.Manifest.Ends {
		e := &s.Manifest.Ends[i]
		began := e.Asked
		if began.IsZero() && e.PID == s.PID() { // others run on
			began = e.Leaving
		}
		if !began.IsZero() && e.Time.Sub(began) <= max(look, began.Sub(s.Clock.Times[0])) {
			return began
		}
	}
	return time.Time{}
}

// Workers returns the number of children that run the same program, and were not recorded.
func (s *Series) Workers() int64 { return s.count(manifest.ProblemWorkers) }

// Programs returns the number of processes below this one that run other programs, grew, and were not recorded.
func (s *Series) Programs() int64 { return s.count(manifest.ProblemPrograms) }

// OwnHeap names the language of the process that has a heap of its own, which was not recorded; "" if there is none.
func (s *Series) OwnHeap() string {
	for p := range s.problems(manifest.ProblemHeap) {
		return p.Detail
	}
	return ""
}

// count returns how often a kind of problem happened.
func (s *Series) count(kind string) (n int64) {
	for p := range s.problems(kind) {
		n += p.Count
	}
	return n
}

// problems yields the problems of a kind that the process had.
func (s *Series) problems(kind string) iter.Seq[manifest.Problem] {
	return func(yield func(manifest.Problem) bool) {
		if s.Manifest == nil {
			return
		}
		for _, p := range s.Manifest.Problems {
			if p.PID == s.PID() && p.Kind == kind && !yield(p) {
				return
			}
		}
	}
}

// Method returns how the process was recorded, as [manifest.Recording.Method] does.
func (s *Series) Method() string {
	if s.Manifest == nil || s.Manifest.Recording == nil {
		return ""
	}
	return s.Manifest.Recording.Method()
}

// Engine returns the name of the profiler that recorded the process, such as builtin or tcmalloc; "" if
// that is not known.
func (s *Series) Engine() string {
	if s.Manifest == nil || s.Manifest.Recording == nil {
		return ""
	}
	return s.Manifest.Recording.Engine
}

// RecordingEnd returns how the recording as a whole ended, or nil if that is unknown.
func (s *Series) RecordingEnd() *manifest.End {
	if s.Manifest == nil {
		return nil
	}
	return s.Manifest.EndOf(0)
}
