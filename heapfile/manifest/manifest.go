// Package manifest reads and writes the manifest of a directory of snapshots. It holds what the
// snapshots themselves do not contain: times, processes, memory sizes, identities of mapped files.
// A recorder appends to the manifest; heapfile/series reads it.
//
// The format is JSON Lines. The first line names the schema,
//
//	{"schema":"heaplapse.manifest/1"}
//
// and each further line holds one record under the name of its kind:
//
//	{"snapshot":{"file":"p.0001.heap","time":"2026-01-02T03:04:05.6Z","pid":4711,"trigger":"time","rss_bytes":1048576}}
//	{"mapping":{"path":"/usr/bin/p","build_id":"ab12…","size":123,"mtime":"2026-01-01T00:00:00Z"}}
//
// Each line is appended in one write. A last line without a newline is truncated and is ignored.
// Unknown kinds and fields are ignored too, so that newer recorders can add some.
package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/infile"
)

// Name is the base name of a manifest.
const Name = "heaplapse.manifest.jsonl"

// Schema is the version that this package reads and writes.
const Schema = "heaplapse.manifest/1"

// Manifest holds all records of a manifest, in the order of the file.
type Manifest struct {
	Recording *Recording // nil in a manifest that no recorder wrote
	Snapshots []Snapshot
	Dropped   []Drop
	Mappings  []Mapping
	Processes []Process
	Files     []File
	Problems  []Problem
	Gaps      []Gap
	Ends      []End
}

// Recording describes how the snapshots were recorded.
type Recording struct {
	Started time.Time `json:"started"`
	// Recorder is the name and version of the recorder.
	Recorder string `json:"recorder,omitempty"`
	Host     string `json:"host,omitempty"`
	// Command is the command line that the user gave.
	Command []string `json:"command"`
	// URLs are the addresses that the snapshots were taken from, if no program was run for them.
	// They have no user names, passwords or queries.
	URLs []string `json:"urls,omitempty"`
	// Engine is the name of the profiler: builtin, tcmalloc or jemalloc. It is "" if the program
	// that URLs name has one of its own.
	Engine string `json:"engine"`
	// Library is the path of the profiler's shared library.
	Library string `json:"library"`
	// Version is the version of the library, or "" if it is unknown.
	Version string `json:"version,omitempty"`
	// Sampling is the mean number of bytes between samples, or 0 if every allocation is recorded.
	Sampling int64 `json:"sample_period,omitempty"`
	// Settings holds the environment variables that the recorder set.
	Settings map[string]string `json:"settings,omitempty"`
}

// Ways of recording a process.
const (
	MethodRecord = "record" // from its start
	MethodAttach = "attach" // without what it had allocated before
)

// Method returns how the processes were recorded; "" if it is neither of the two, or not known.
func (r *Recording) Method() string {
	switch {
	case r.Library != "": // it was preloaded
		return MethodRecord
	case r.Engine == "builtin":
		return MethodAttach
	}
	return ""
}

// Process describes a process image that wrote snapshots. A process that calls exec has one record
// for each image.
type Process struct {
	PID     int       `json:"pid"`
	Image   int       `json:"image,omitempty"` // 0 for the first process image, 1 after the first exec, …
	Parent  int       `json:"parent,omitempty"`
	Started time.Time `json:"started"`
	Command []string  `json:"command,omitempty"`
	Exe     string    `json:"exe,omitempty"`
	// Link is the symbolic link to Exe by which the program was run, or "".
	Link string `json:"link,omitempty"`
}

// File describes a file that the recorder copied into the directory, such as a perf map.
type File struct {
	File string `json:"file"` // base name of the copy
	Path string `json:"path"` // original path
	Kind string `json:"kind"` // perf-map, jitdump, frames, holders or vdso
	PID  int    `json:"pid,omitempty"`
}

// Problem describes what was not recorded of a process image.
type Problem struct {
	PID   int `json:"pid"`
	Image int `json:"image,omitempty"` // as in Process
	// Kind is ProblemDisabled, ProblemWorkers, ProblemRemoved, ProblemPrograms, ProblemHeap or another word, which never
	// changes: samples-dropped, table-full, …
	Kind string `json:"kind"`
	// Count is how often it happened.
	Count int64 `json:"count,omitempty"`
	// Detail is what happened first, as a sentence; it may be "".
	Detail string `json:"detail,omitempty"`
}

// ProblemDisabled is the kind of the problem that the engine did not record the process.
const ProblemDisabled = "disabled"

// ProblemWorkers is the kind of the problem that Count children of the process, which run the same
// program, were not recorded.
const ProblemWorkers = "workers-not-recorded"

// ProblemRemoved is the kind of the problem that no snapshots are kept of Count children of the
// process, which run the same program and have ended.
const ProblemRemoved = "workers-removed"

// ProblemPrograms is the kind of the problem that Count processes below the process, which run other programs, grew and
// were not recorded. Detail has the names of the programs.
const ProblemPrograms = "programs-not-recorded"

// ProblemHeap is the kind of the problem that a language has a heap of its own, which is not recorded. Detail names the
// language.
const ProblemHeap = "heap-not-recorded"

// Text returns what happened, and how often if that is more than once.
func (p Problem) Text() string {
	switch p.Kind {
	case ProblemWorkers:
		return fmt.Sprintf("child processes that run the same program, and were not recorded: %d", p.Count)
	case ProblemRemoved:
		return fmt.Sprintf("child processes that run the same program, have ended, and of which no snapshots are kept: %d", p.Count)
	case ProblemPrograms:
		return fmt.Sprintf("child processes of other programs that grew, and were not recorded: %d (%s)", p.Count, p.Detail)
	case ProblemHeap:
		return "the heap of " + p.Detail + " is not recorded, only what C code allocates"
	}
	text := cmp.Or(p.Detail, p.Kind)
	if p.Count > 1 && p.Kind != ProblemDisabled {
		text += fmt.Sprintf(" (%d times)", p.Count)
	}
	return text
}

// Gap is a time without snapshots, because the service that they are taken from did not answer.
type Gap struct {
	// Prefix is the one of the snapshots that are missing.
	Prefix string    `json:"prefix"`
	From   time.Time `json:"from"` // the first snapshot that is missing
	// To is the time of the next snapshot. It is zero if there was none.
	To     time.Time `json:"to,omitzero"`
	Reason string    `json:"reason"`
}

// End describes how a process ended or, with PID 0, how the recording ended.
type End struct {
	PID  int       `json:"pid,omitempty"`
	Time time.Time `json:"time"`
	// Status is the exit status, or nil if it is unknown or a signal killed the process.
	Status *int `json:"status,omitempty"`
	// Signal is the name of the signal that killed the process, such as "SIGKILL", or "".
	Signal string `json:"signal,omitempty"`
	// Requested reports whether the recorder sent or passed on a signal that ends programs.
	Requested bool `json:"requested,omitempty"`
	// Asked is when the recorder sent or passed on a signal that ends programs, which the process may
	// have handled. It is zero if it did not.
	Asked time.Time `json:"asked,omitzero"`
	// Leaving is when the process was about to run its exit handlers, the last time if it did not end then. It is zero
	// if that is unknown.
	Leaving time.Time `json:"leaving,omitzero"`
	// CPU is that of a [Snapshot] when the process ended, and RSS that of a moment before. They are
	// nil if unknown.
	CPU *int64 `json:"cpu_ns,omitempty"`
	RSS *int64 `json:"rss_bytes,omitempty"`
	// Error describes problems of the recording, such as a full disk.
	Error string `json:"error,omitempty"`
}

// Snapshot holds what a recorder knew about a snapshot when it appeared.
type Snapshot struct {
	File    string    `json:"file"` // base name, without compression suffix
	Time    time.Time `json:"time"`
	PID     int       `json:"pid,omitempty"`
	Image   int       `json:"image,omitempty"`   // as in Process
	Trigger string    `json:"trigger,omitempty"` // name of a heapfile.Trigger
	// RSS and PSS are the resident and the proportional set size of the process, in bytes. They are
	// nil if unknown.
	RSS *int64 `json:"rss_bytes,omitempty"`
	PSS *int64 `json:"pss_bytes,omitempty"`
	// CPU is the time, in nanoseconds, that all threads of the process have run since it started,
	// in user and in system mode. It is nil if unknown.
	CPU *int64 `json:"cpu_ns,omitempty"`
}

// KindFrames is the kind of a file that the engine wrote: the functions of the scripts that a
// process ran, by the addresses that stand for them in the snapshots. The names of such files are
// PREFIX.PID.frames.jsonl and, from the second process image on, PREFIX.PID.IMAGE.frames.jsonl.
const (
	KindFrames   = "frames"
	FramesSuffix = ".frames.jsonl"
	// KindHolders is the kind of a file that tells what holds the blocks that were sampled (internal/holders/answer).
	// The names of such files are those of frames with another suffix.
	KindHolders   = "holders"
	HoldersSuffix = ".holders.jsonl"
)

// NamesFile is the base name of the archive of what names the addresses, if that may not be at its paths later. The
// manifest does not list it: it is written when the recording is complete. See package bundle.
const NamesFile = "names.heaplapse.tar.zst"

// IsBeside reports whether a base name is that of a file that a recorder writes beside the snapshots. A pattern of a
// shell may match such files, too.
func IsBeside(name string) bool {
	return name == Name || name == NamesFile || name == VDSOFile || strings.HasSuffix(name, HoldersSuffix) ||
		strings.HasSuffix(name, FramesSuffix)
}

// VDSOFile is the base name of the copy of the kernel's [vdso], a File of kind vdso.
const VDSOFile = "vdso.so"

// Drop describes a snapshot that the recorder removed. Its sequence number does not count as
// missing. The record is written before the file is removed.
type Drop struct {
	File string `json:"file"` // base name
	// Reason is one of the constants below, or another one that a newer recorder defines.
	Reason string `json:"reason,omitempty"`
}

// Reasons to remove a snapshot.
const (
	DropThinned  = "thinned"  // the recorder keeps at most N snapshots, evenly spaced
	DropTeardown = "teardown" // the program was freeing its memory before it exited
	DropHelper   = "helper"   // a wrapper wrote it, or a short-lived program that a shell ran
)

// Mapping identifies the version of a file that was mapped during the recording.
type Mapping struct {
	Path    string    `json:"path"`
	BuildID string    `json:"build_id,omitempty"` // hex
	Size    int64     `json:"size,omitempty"`
	MTime   time.Time `json:"mtime,omitzero"`
}

type record struct {
	Schema    string     `json:"schema,omitempty"`
	Recording *Recording `json:"recording,omitempty"`
	Snapshot  *Snapshot  `json:"snapshot,omitempty"`
	Dropped   *Drop      `json:"dropped,omitempty"`
	Mapping   *Mapping   `json:"mapping,omitempty"`
	Process   *Process   `json:"process,omitempty"`
	File      *File      `json:"file,omitempty"`
	Problem   *Problem   `json:"problem,omitempty"`
	Gap       *Gap       `json:"gap,omitempty"`
	End       *End       `json:"end,omitempty"`
}

// Load reads the manifest of a directory. It returns nil if there is none.
func Load(dir string) (*Manifest, error) {
	f, _, err := infile.Open(filepath.Join(dir, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, f.Name())
}

// Limits of a manifest in bytes. A quarter of a million snapshots take 64 MiB.
const (
	maxLine = 1 << 20 // of a record
	maxSize = 64 << 20
)

// Read decodes a manifest. Errors begin with name and the number of the line.
func Read(r io.Reader, name string) (*Manifest, error) {
	m := &Manifest{}
	in := bufio.NewReaderSize(r, 64<<10)
	size := 0
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			line, err = readLong(in, line)
			if errors.Is(err, io.EOF) {
				return m, nil
			}
		}
		if size += len(line); size > maxSize && err == nil {
			err = fmt.Errorf("more than %d MiB", maxSize>>20)
		}
		if err == nil {
			err = m.add(line, n)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
}

// readLong reads the rest of a line that is longer than the reader's buffer.
func readLong(in *bufio.Reader, head []byte) ([]byte, error) {
	line := bytes.Clone(head)
	for len(line) < maxLine {
		more, err := in.ReadSlice('\n')
		line = append(line, more...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return nil, fmt.Errorf("record has more than %d bytes", maxLine)
}

func (m *Manifest) add(line []byte, n int) error {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if n == 1 && r.Schema != Schema {
		return fmt.Errorf("schema %q, want %q: written by another version of heaplapse", r.Schema, Schema)
	}
	if r.Recording != nil {
		m.Recording = r.Recording
	}
	if r.Process != nil {
		m.Processes = append(m.Processes, *r.Process)
	}
	if r.File != nil {
		m.Files = append(m.Files, *r.File)
	}
	if r.Problem != nil {
		m.Problems = append(m.Problems, *r.Problem)
	}
	if r.Gap != nil {
		m.Gaps = append(m.Gaps, *r.Gap)
	}
	if r.End != nil {
		if err := checkAmounts(amount{"cpu_ns", r.End.CPU}, amount{"rss_bytes", r.End.RSS}); err != nil {
			return err
		}
		m.Ends = append(m.Ends, *r.End)
	}
	if r.Snapshot != nil {
		if err := r.Snapshot.check(); err != nil {
			return err
		}
		m.Snapshots = append(m.Snapshots, *r.Snapshot)
	}
	if r.Dropped != nil {
		m.Dropped = append(m.Dropped, *r.Dropped)
	}
	if r.Mapping != nil {
		m.Mappings = append(m.Mappings, *r.Mapping)
	}
	return nil
}

// check returns an error for sizes and times that no process has.
func (s *Snapshot) check() error {
	return checkAmounts(amount{"rss_bytes", s.RSS}, amount{"pss_bytes", s.PSS}, amount{"cpu_ns", s.CPU})
}

// amount is the value of a field, which is nil or not negative.
type amount struct {
	name  string
	value *int64
}

func checkAmounts(fields ...amount) error {
	for _, field := range fields {
		if field.value != nil && *field.value < 0 {
			return fmt.Errorf("%s is negative: %d", field.name, *field.value)
		}
	}
	return nil
}
