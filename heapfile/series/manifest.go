package series

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// sidecar is the manifest of one directory, nil inside where it has none.
type sidecar struct {
	*manifest.Manifest
	err       error
	snapshots map[string]manifest.Snapshot // by base name, without compression suffix
}

// sidecars are the manifests of the directories of some files, each loaded once.
type sidecars map[string]*sidecar

// of returns the manifest beside a file.
func (k sidecars) of(f sourceFile) *sidecar {
	dir := filepath.Dir(f.open)
	if s, ok := k[dir]; ok {
		return s
	}
	s := &sidecar{snapshots: map[string]manifest.Snapshot{}}
	s.Manifest, s.err = loadSidecar(dir, filepath.Dir(f.path))
	if s.Manifest != nil {
		for _, r := range s.Snapshots {
			s.snapshots[r.File] = amended(s.snapshots[r.File], r)
		}
	}
	k[dir] = s
	return s
}

// amended is what is known of a file after a second record: one of the same moment adds to the first, one of another
// is about a file that took the first one's place.
func amended(first, second manifest.Snapshot) manifest.Snapshot {
	if !second.Time.Equal(first.Time) {
		return second
	}
	second.PID = cmp.Or(second.PID, first.PID)
	second.Trigger = cmp.Or(second.Trigger, first.Trigger)
	second.RSS, second.PSS = cmp.Or(second.RSS, first.RSS), cmp.Or(second.PSS, first.PSS)
	return second
}

// loadSidecar reads the manifest of a directory, which errors call by another name; nil if there is none.
func loadSidecar(dir, called string) (*manifest.Manifest, error) {
	f, err := os.Open(filepath.Join(dir, manifest.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return manifest.Read(f, filepath.Join(called, manifest.Name))
}

// snapshot is what the recorder saw when the file appeared.
func (s *sidecar) snapshot(path string) (manifest.Snapshot, bool) {
	r, ok := s.snapshots[TrimCompression(filepath.Base(path))]
	return r, ok
}

// warnings name the manifests that cannot be used.
func (k sidecars) warnings() (out []heapfile.Warning) {
	for _, s := range k {
		if s.err != nil {
			out = append(out, heapfile.Warning{Kind: heapfile.WarnManifest, Count: 1, Msg: s.err.Error() + "; it is not used"})
		}
	}
	slices.SortFunc(out, func(a, b heapfile.Warning) int { return strings.Compare(a.Msg, b.Msg) })
	return out
}

// owners gives each file the process that wrote it, where the recorder knows it and the name does not tell. A file that the
// recorder has not noted (yet) belongs to the process of the file before it, of those with its prefix.
func (k sidecars) owners(files []sourceFile) {
	noted := map[string]int{} // the last PID by prefix
	for i := range files {
		f := &files[i]
		if r, ok := k.of(*f).snapshot(f.path); ok && r.PID != 0 {
			f.name.PID = r.PID
		}
		switch key := filepath.Dir(f.open) + "\x00" + f.name.Prefix; {
		case f.name.Seq < 0:
		case f.name.PID != 0:
			noted[key] = f.name.PID
		default:
			f.name.PID = noted[key]
		}
	}
}

// describe adds what the recorder knows of a process.
func (s *sidecar) describe(p *Process) {
	if s.Manifest == nil || p.PID == 0 {
		return
	}
	for _, r := range s.Processes { // of a process that called exec the last one
		if r.PID == p.PID {
			p.Command, p.Exe, p.parent = r.Command, r.Exe, r.Parent
		}
	}
	p.End = endOf(s.Manifest, p.PID)
}

// asked is the process that runs the command that the user had recorded, 0 if that is not known.
func (s *sidecar) asked() int {
	if s.Manifest == nil || s.Recording == nil || len(s.Recording.Command) == 0 {
		return 0
	}
	want := s.Recording.Command
	program := filepath.Base(want[0])
	alike := 0
	for _, p := range s.Processes {
		if slices.Equal(p.Command, want) {
			return p.PID
		}
		if alike == 0 && (filepath.Base(p.Exe) == program || (len(p.Command) > 0 && filepath.Base(p.Command[0]) == program)) {
			alike = p.PID
		}
	}
	return alike
}

// preferred picks one of several processes, and says why.
func preferred(processes []Process, s *sidecar) (index int, why string) {
	if s.Manifest == nil {
		return indexOfMax(processes, func(a, b Process) int { return cmp.Compare(a.PeakInuse, b.PeakInuse) }), "whose heap is the largest"
	}
	most := indexOfMax(processes, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Files, b.Files), cmp.Compare(a.PeakInuse, b.PeakInuse))
	})
	pid := s.asked()
	asked := slices.IndexFunc(processes, func(p Process) bool { return p.PID != 0 && p.PID == pid })
	if asked >= 0 && 2*processes[asked].Files >= processes[most].Files { // else it only started the one that counts, as a shell does
		return asked, "the program that was recorded"
	}
	return most, "which wrote the most"
}

// indexOfMax is the first of the largest.
func indexOfMax(processes []Process, compare func(a, b Process) int) int {
	best := 0
	for i := range processes {
		if compare(processes[i], processes[best]) > 0 {
			best = i
		}
	}
	return best
}

// useSidecar takes what the recorder's manifest knows and returns its times,
// nil unless it has one for every snapshot.
func (s *Series) useSidecar(known *sidecar) []time.Time {
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
	s.RSS, s.PSS = make([]*int64, len(s.Heads)), make([]*int64, len(s.Heads))
	for i, h := range s.Heads {
		r, ok := known.snapshot(h.Path)
		if !ok {
			continue
		}
		times = append(times, r.Time)
		s.RSS[i], s.PSS[i] = r.RSS, r.PSS
		h.File.PID = cmp.Or(r.PID, h.File.PID)
		if t, ok := parseTrigger(r.Trigger); ok {
			h.File.Trigger = t
		}
	}
	if len(times) != len(s.Heads) {
		return nil
	}
	return times
}

func parseTrigger(name string) (Trigger, bool) {
	i := slices.Index(triggerNames[:], name)
	return Trigger(max(i, 0)), i > 0
}

// ResidentAt is the resident set of the process at a snapshot, in bytes, if it was recorded.
func (s *Series) ResidentAt(index int) (bytes int64, ok bool) {
	return recordedAt(s.RSS, index)
}

// ProportionalAt is the proportional set size of the process at a snapshot, in bytes, if it was recorded: its private memory and,
// of each page that n processes share, one n-th.
func (s *Series) ProportionalAt(index int) (bytes int64, ok bool) {
	return recordedAt(s.PSS, index)
}

func recordedAt(column []*int64, index int) (bytes int64, ok bool) {
	if index < 0 || index >= len(column) || column[index] == nil {
		return 0, false
	}
	return *column[index], true
}

// Ended is how the process ended, nil if that was not recorded: it may still run. of is the process whose end it is: that of a
// shell that started the process and waited for it, or 0 for the recording, where no better is known.
func (s *Series) Ended() (end *manifest.End, of int) {
	if s.Process.End != nil || s.Manifest == nil {
		return s.Process.End, s.Process.PID
	}
	if len(s.Others) > 0 {
		return nil, 0 // the end of the recording is not that of each process
	}
	if parent := s.Process.parent; parent != 0 {
		if end := endOf(s.Manifest, parent); end != nil {
			return end, parent
		}
	}
	return s.RecordingEnd(), 0
}

// RecordingEnd is how the recording as a whole ended, nil if that is not known.
func (s *Series) RecordingEnd() *manifest.End {
	if s.Manifest == nil {
		return nil
	}
	return endOf(s.Manifest, 0)
}

// endOf is the last word on how a process ended.
func endOf(m *manifest.Manifest, pid int) *manifest.End {
	for i := len(m.Ends) - 1; i >= 0; i-- {
		if m.Ends[i].PID == pid {
			return &m.Ends[i]
		}
	}
	return nil
}
