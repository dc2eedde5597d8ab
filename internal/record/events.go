//go:build linux

package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/units"
)

// The built-in engine appends to PREFIX.PID.events.jsonl and, from the second process image on, to
// PREFIX.PID.IMAGE.events.jsonl. The first line names the process image; each further line is one
// event. The line of a snapshot is written before the snapshot appears under its name:
//
//	{"schema":"heaplapse.events/1","pid":4711,"image":0,"start_ns":1790000000000000000}
//	{"snapshot":{"seq":1,"file":"p_4711.0001.heap","time_ns":…,"trigger":"time","rss":7471104,"cpu_ns":7170547}}
//	{"problem":{"kind":"samples-dropped","count":3,"detail":"the table of samples is full"}}
//
// The recorder copies what they tell to the manifest and removes the files when the program has
// ended.
const (
	eventsSuffix = ".events.jsonl"
	eventsSchema = "heaplapse.events/1"
)

// event is a line of an events file.
type event struct {
	Schema   string         `json:"schema"`
	PID      int            `json:"pid"`
	Image    int            `json:"image"`
	Snapshot *snapshotEvent `json:"snapshot"`
	Problem  *problemEvent  `json:"problem"`
}

type snapshotEvent struct {
	File    string `json:"file"`
	Time    int64  `json:"time_ns"`
	Trigger string `json:"trigger"`
	Signal  int    `json:"signal"` // that ended the process, or 0
	RSS     *int64 `json:"rss"`
	PSS     *int64 `json:"pss"`
	CPU     *int64 `json:"cpu_ns"`

	image int
}

type problemEvent struct {
	Kind   string `json:"kind"`
	Count  int64  `json:"count"` // since the process image began
	Detail string `json:"detail"`
}

// triggerName returns the name that the manifest uses. The snapshot before a signal ends the process
// shows the heap as it was, as one that the user requests does.
func (e *snapshotEvent) triggerName() string {
	if e.Trigger == "signal" || e.Signal != 0 {
		return triggerManual
	}
	return e.Trigger
}

// eventFiles reads the events files of a recording while they grow.
type eventFiles struct {
	prefix    string // path with which the names begin
	files     map[string]*eventFile
	images    map[int]int               // by process: the number of the last process image
	snapshots map[string]*snapshotEvent // by name of the snapshot
}

// eventFile is one events file.
type eventFile struct {
	read     int64 // bytes of complete lines
	pid      int
	image    int
	bad      error // of the first malformed line
	problems map[string]*problemEvent
}

func newEventFiles(prefix string) *eventFiles {
	return &eventFiles{
		prefix: prefix, files: map[string]*eventFile{}, images: map[int]int{}, snapshots: map[string]*snapshotEvent{},
	}
}

// imageName returns the name of the file of a process image that has a suffix.
func imageName(prefix string, pid, image int, suffix string) string {
	if image == 0 {
		return fmt.Sprintf("%s.%d%s", prefix, pid, suffix)
	}
	return fmt.Sprintf("%s.%d.%d%s", prefix, pid, image, suffix)
}

// of returns the event of a snapshot, or nil if there is none.
func (f *eventFiles) of(s *snapshotFile) *snapshotEvent {
	for image := f.images[s.name.pid]; s.name.pid != 0; image++ {
		if !f.readFile(imageName(f.prefix, s.name.pid, image, eventsSuffix)) {
			break
		}
		f.images[s.name.pid] = image
	}
	e := f.snapshots[s.fileName()]
	delete(f.snapshots, s.fileName())
	return e
}

// maxEvents is the number of bytes that are read of an events file at once.
const maxEvents = 1 << 20

// readFile reads the complete lines that are new in a file. It returns false if there is no such file.
func (f *eventFiles) readFile(path string) bool {
	r, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer r.Close()
	file := f.files[path]
	if file == nil {
		file = &eventFile{problems: map[string]*problemEvent{}}
		f.files[path] = file
	}
	for {
		b := make([]byte, maxEvents)
		n, err := r.ReadAt(b, file.read)
		end := bytes.LastIndexByte(b[:n], '\n') + 1
		for line := range bytes.Lines(b[:end]) {
			f.add(file, line, path)
		}
		file.read += int64(end)
		if err != nil || end == 0 {
			if end == 0 && n == maxEvents {
				file.fail(path, errors.New("a line is too long"))
			}
			return true
		}
	}
}

// fail keeps the error of the first malformed line.
func (f *eventFile) fail(path string, err error) {
	if f.bad == nil {
		f.bad = fmt.Errorf("%s: at byte %d: %w", path, f.read, err)
	}
}

// add adds a line of a file.
func (f *eventFiles) add(file *eventFile, line []byte, path string) {
	var e event
	err := json.Unmarshal(line, &e)
	switch {
	case err != nil:
		file.fail(path, err)
	case e.Schema != "" && e.Schema != eventsSchema:
		file.fail(path, fmt.Errorf("schema %q, want %q", e.Schema, eventsSchema))
	case e.Schema != "":
		file.pid, file.image = e.PID, e.Image
	case e.Snapshot != nil:
		e.Snapshot.image = file.image
		f.snapshots[e.Snapshot.File] = e.Snapshot
	case e.Problem != nil:
		file.problems[e.Problem.Kind] = e.Problem
	}
}

// finish reads the rest of all files, removes them, and returns the problems that they report,
// ordered by process and kind, and the errors of the files themselves.
func (f *eventFiles) finish() (problems []manifest.Problem, errs []error) {
	for _, path := range f.list(eventsSuffix) { // processes that are not recorded have one, too
		f.readFile(path)
	}
	for path, file := range f.files {
		for _, p := range file.problems {
			problems = append(problems, manifest.Problem{
				PID: file.pid, Image: file.image, Kind: p.Kind, Count: p.Count, Detail: p.Detail,
			})
		}
		if file.bad != nil {
			errs = append(errs, file.bad)
		}
		_ = os.Remove(path)
	}
	slices.SortFunc(problems, func(a, b manifest.Problem) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Image, b.Image), cmp.Compare(a.Kind, b.Kind))
	})
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return problems, errs
}

// problemText returns a problem of the engine as a note to the user.
func problemText(p manifest.Problem) string {
	text := cmp.Or(p.Detail, p.Kind)
	if p.Kind == manifest.ProblemDisabled {
		return fmt.Sprintf("process %d is not recorded: %s", p.PID, text)
	}
	if p.Count > 1 {
		text += fmt.Sprintf(" (%s)", units.Count(int(min(p.Count, 1<<31)), "time"))
	}
	return fmt.Sprintf("process %d: %s", p.PID, text)
}

// keepFrames adds the frames files of the process images that have snapshots to the manifest, and
// removes those of the others.
func (c *collector) keepFrames() {
	for _, path := range c.events.frames() {
		name := filepath.Base(path)
		pid, kept := c.ownerOfFrames(name)
		if !kept {
			_ = os.Remove(path)
			continue
		}
		c.checkWrite(c.out.File(manifest.File{File: name, Path: path, Kind: manifest.KindFrames, PID: pid}))
	}
}

// ownerOfFrames returns the process that wrote a frames file, and whether snapshots of the process
// image are kept.
func (c *collector) ownerOfFrames(name string) (pid int, kept bool) {
	for _, pid := range c.pids() {
		for _, img := range c.procs[pid].images {
			if name == filepath.Base(imageName(c.plan.prefix, pid, img.number, manifest.FramesSuffix)) {
				return pid, len(img.series) > 0
			}
		}
	}
	return 0, false
}

// frames returns the paths of all frames files, sorted.
func (f *eventFiles) frames() []string { return f.list(manifest.FramesSuffix) }

// list returns the paths of all files of the recording that have a suffix, sorted.
func (f *eventFiles) list(suffix string) (paths []string) {
	dir, base := filepath.Split(f.prefix)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the collector reports it
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), base+".") && strings.HasSuffix(e.Name(), suffix) && e.Type().IsRegular() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}
