package series

import (
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/spool"
)

// Options control how a series is read. The zero value works.
type Options struct {
	// Process chooses one of several processes in a directory: its number, or its prefix (the last
	// element is enough). If it is "", [Open] chooses Recording.Main.
	Process string
	// Sources are further files, besides those of the paths. FS contains them; nil is this machine.
	Sources []Source
	FS      fs.FS
	// Snapshots is the number of snapshots to make of a recording of all allocations, such as
	// heaptrack's. 0 means DefaultSnapshots.
	Snapshots int
	// Workers is the number of files to read at once; 0 means one per CPU.
	Workers int
	// Stdin is read for the path "-".
	Stdin io.Reader
	// Waiting, if not nil, is called with the path of a pipe that has delivered nothing for a
	// second.
	Waiting func(path string)
	// Check, if not nil, is called for each MiB that is read, also by later passes. Its error ends
	// the reading. It must be safe for concurrent use.
	Check func(more int64) error
	// Progress, if not nil, is called after each file with the number of files that were read and
	// the number of all files.
	Progress func(done, all int)
	// Ages limits which memory the snapshots have that [Series.All] and [Series.Read] return. Visit gets whole snapshots.
	Ages Ages
	// Visit, if not nil, is called with each snapshot in order while it is read. The Samples are
	// valid only until Visit returns. Clock and Warnings of the series are not known yet.
	Visit func(*Snapshot) error
}

// Series is the snapshots of one process, in order. Their rows are not held: [Series.All] and
// [Series.Read] read them again. A Series does not change after [Open].
type Series struct {
	Process Process
	// Others are the other processes of the recording.
	Others []Process
	// Chosen is the reason why this process is read and not another; "" if the options chose it.
	Chosen string
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
	// Symbols are the functions that symbolized snapshots contain.
	Symbols map[Place]heapfile.Symbol
	// BuildIDs are the build IDs that the manifest has, by path of the mapped file.
	BuildIDs map[string]string
	// Mapped are the mapped files that the manifest has, by path.
	Mapped map[string]manifest.Mapping
	// Manifest is what the recorder wrote; nil if there is none.
	Manifest *manifest.Manifest
	Clock    Clock
	// Triggers are the reasons why the snapshots were taken, read from the names or inferred.
	Triggers []filename.Trigger
	// Problems are the paths that could not be used.
	Problems []Problem
	// Warnings concern the series as a whole; those of single files are in Heads.
	Warnings []heapfile.Warning

	files    []sourceFile           // of Heads
	repeated []int                  // numbers of the snapshots that repeat the one before
	found    []sourceFile           // all, in the order in which they were found
	check    func(more int64) error // may be nil
	ages     Ages                   // of Options
	before   time.Time              // of BornBefore; zero: no limit
	// recording is closed with the series; may be nil.
	recording *Recording
}

// Head is a snapshot of a series without its rows.
type Head struct {
	heapfile.Head
	// File is what the name of the file says, completed by the manifest.
	File filename.Name
	// Index is the position in the series, from 0.
	Index int
	// Image numbers the process images of the series, from 0. A process image lasts from an exec or
	// fork to the next one or to the end of the process.
	Image int

	position *float64 // as in sourceFile
}

// Snapshot is a snapshot of a series with its rows.
type Snapshot struct {
	*Head
	Samples []heapfile.Sample
	// Births tells when the memory of rows was allocated, by their position in Samples, if the snapshot was read by
	// [Series.ReadBirths].
	Births map[int][]heapfile.Birth
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
	r, err := Find(paths, o)
	if err != nil {
		return nil, err
	}
	s, err := r.OpenOne(o)
	if err != nil {
		r.Close()
		return nil, err
	}
	s.recording = r
	return s, nil
}

// Close removes the copies of standard input and pipes, if [Open] made the series.
func (s *Series) Close() error {
	if s.recording == nil {
		return nil
	}
	return s.recording.Close()
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

// Repeated returns the number of snapshots that were left out because they repeat the one before:
// Go updates its profile of the heap when it has collected garbage.
func (s *Series) Repeated() int { return len(s.repeated) }

// dropped returns the snapshots of this process that the recorder removed.
func (s *Series) dropped() (out []manifest.Drop) {
	if s.Manifest == nil {
		return nil
	}
	for _, d := range s.Manifest.Dropped {
		if filename.Parse(d.File).PID == s.Process.PID {
			out = append(out, d)
		}
	}
	return out
}

// Sources returns all files that were found, including unusable ones and those of other processes.
func (s *Series) Sources() []Source {
	var out []Source
	for _, f := range dropDuplicates(s.found) {
		entry := f.Entry
		if _, copied := f.FS.(*spool.Spool); copied {
			entry = ""
		}
		out = append(out, Source{Path: f.Path, Entry: entry, Named: f.Named})
	}
	return out
}

// Dir returns the directory of the snapshots.
func (s *Series) Dir() string { return filepath.Dir(s.files[0].Path) }
