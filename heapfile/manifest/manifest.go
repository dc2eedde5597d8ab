// Package manifest is the sidecar of a directory of snapshots: what the
// snapshots themselves do not say. A recorder appends to it, heapfile reads it.
//
// The file is JSON Lines. The first line names the schema,
//
//	{"schema":"heaplapse.manifest/1"}
//
// and each further line holds one record under its kind's name:
//
//	{"snapshot":{"file":"p.0001.heap","time":"2026-01-02T03:04:05.6Z","pid":4711,"trigger":"time","rss_bytes":1048576}}
//	{"mapping":{"path":"/usr/bin/p","build_id":"ab12…","size":123,"mtime":"2026-01-01T00:00:00Z"}}
//
// A line is appended in one write. A last line without its newline is one that
// was cut off and is ignored; unknown kinds and fields are ignored, so that newer recorders
// can say more.
package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Name is the file's name within the directory of snapshots.
const Name = "heaplapse.manifest.jsonl"

// Schema is the version that this package reads and writes.
const Schema = "heaplapse.manifest/1"

// Manifest is a whole sidecar.
type Manifest struct {
	Recording *Recording // nil in a sidecar that no recorder wrote
	Snapshots []Snapshot
	Dropped   []Drop
	Mappings  []Mapping
	Processes []Process
	Files     []File
	Ends      []End
}

// Recording is how the snapshots came to be.
type Recording struct {
	Started time.Time `json:"started"`
	// Recorder is the version of heaplapse.
	Recorder string `json:"recorder,omitempty"`
	Host     string `json:"host,omitempty"`
	// Command is what the user asked to run; Engine is tcmalloc or jemalloc, Library its file, Version what is known of its version.
	Command []string `json:"command"`
	Engine  string   `json:"engine"`
	Library string   `json:"library"`
	Version string   `json:"version,omitempty"`
	// Sampling is the mean distance of samples in bytes; 0 where every allocation is recorded.
	Sampling int64 `json:"sample_period,omitempty"`
	// Settings are the environment variables that were set for the engine.
	Settings map[string]string `json:"settings,omitempty"`
}

// Process is one of those that wrote snapshots. A process that calls exec is recorded again, as its next image.
type Process struct {
	PID     int       `json:"pid"`
	Image   int       `json:"image,omitempty"` // 0 for the first program that the process ran, 1 after an exec, …
	Parent  int       `json:"parent,omitempty"`
	Started time.Time `json:"started"`
	Command []string  `json:"command,omitempty"`
	Exe     string    `json:"exe,omitempty"`
}

// File is a file that was copied to the snapshots, such as a perf map.
type File struct {
	File string `json:"file"` // base name, beside the sidecar
	Path string `json:"path"` // where it was
	Kind string `json:"kind"` // perf-map, jitdump or vdso
	PID  int    `json:"pid,omitempty"`
}

// End is how a process, or with PID 0 the recording, ended.
type End struct {
	PID  int       `json:"pid,omitempty"`
	Time time.Time `json:"time"`
	// Status is the exit status, Signal the name of the signal that killed it ("SIGKILL"). Both are nil or empty where the
	// recorder could not learn them.
	Status *int   `json:"status,omitempty"`
	Signal string `json:"signal,omitempty"`
	// Error is what went wrong with the recording, such as a full disk.
	Error string `json:"error,omitempty"`
}

// Snapshot is what a recorder saw when a snapshot appeared.
type Snapshot struct {
	File    string    `json:"file"` // base name, without compression suffix
	Time    time.Time `json:"time"`
	PID     int       `json:"pid,omitempty"`
	Image   int       `json:"image,omitempty"`   // of the process, see Process
	Trigger string    `json:"trigger,omitempty"` // a heapfile.Trigger's name
	// RSS and PSS of the process, in bytes; nil when unknown.
	RSS *int64 `json:"rss_bytes,omitempty"`
	PSS *int64 `json:"pss_bytes,omitempty"`
}

// VDSOFile is the base name of the image of the kernel's [vdso], a File of kind vdso.
const VDSOFile = "vdso.so"

// Drop is a snapshot that the recorder removed: its number is not missing. It is written before the file is removed.
type Drop struct {
	File string `json:"file"` // base name
	// Reason is one of those below, or one that a newer recorder has.
	Reason string `json:"reason,omitempty"`
}

// Reasons to remove a snapshot.
const (
	DropThinned  = "thinned"  // so many are kept, evenly spread
	DropTeardown = "teardown" // the program freed its memory to exit
	DropHelper   = "helper"   // of a wrapper, or of a program that a shell ran beside
)

// Mapping identifies a mapped file as it was during the recording.
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
	End       *End       `json:"end,omitempty"`
}

// Load reads the sidecar of a directory. A directory without one gives nil.
func Load(dir string) (*Manifest, error) {
	f, err := os.Open(filepath.Join(dir, Name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, f.Name())
}

// maxLine caps one record.
const maxLine = 1 << 20

// Read decodes a sidecar; name stands for it in errors, which give the line.
func Read(r io.Reader, name string) (*Manifest, error) {
	m := &Manifest{}
	in := bufio.NewReaderSize(r, 64<<10)
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
		if err == nil {
			err = m.add(line, n)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
}

func readLong(in *bufio.Reader, head []byte) ([]byte, error) {
	line := bytes.Clone(head)
	for len(line) < maxLine {
		more, err := in.ReadSlice('\n')
		line = append(line, more...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return nil, fmt.Errorf("a record of more than %d bytes", maxLine)
}

func (m *Manifest) add(line []byte, n int) error {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if n == 1 && r.Schema != Schema {
		return fmt.Errorf("schema %q, want %q: written by another version", r.Schema, Schema)
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
	if r.End != nil {
		m.Ends = append(m.Ends, *r.End)
	}
	if r.Snapshot != nil {
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
