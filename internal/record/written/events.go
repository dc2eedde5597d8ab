//go:build linux

package written

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// What the built-in engine tells is appended to PREFIX.PID.events.jsonl and, from the second
// process image on, to PREFIX.PID.IMAGE.events.jsonl. The first line names the process image; each
// further line is one event. The line of a snapshot is written before the snapshot appears under
// its name:
//
//	{"schema":"heaplapse.events/1","pid":4711,"image":0,"start_ns":1790000000000000000}
//	{"snapshot":{"seq":1,"time_ns":…,"trigger":"time","rss":7471104,"cpu_ns":7170547}}
//	{"problem":{"kind":"samples-dropped","count":3,"detail":"the table of samples is full"}}
//
// The recorder copies what they tell to the manifest and removes the files when the program has
// ended.
const (
	EventsSuffix = ".events.jsonl"
	eventsSchema = "heaplapse.events/1"
)

// eventLine is a line of an events file.
type eventLine struct {
	Schema   string        `json:"schema"`
	PID      int           `json:"pid"`
	Image    int           `json:"image"`
	Snapshot *Event        `json:"snapshot"`
	Problem  *problemEvent `json:"problem"`
}

// Event is what the engine tells about a snapshot.
type Event struct {
	Seq     int    `json:"seq"`
	Time    int64  `json:"time_ns"`
	Trigger string `json:"trigger"`
	Signal  int    `json:"signal"` // that ended the process, or 0
	RSS     *int64 `json:"rss"`
	CPU     *int64 `json:"cpu_ns"`

	Image int `json:"-"` // number of the process image, which the first line of the file tells
}

type problemEvent struct {
	Kind   string `json:"kind"`
	Count  int64  `json:"count"` // since the process image began
	Detail string `json:"detail"`
	Errno  int    `json:"errno"` // the error of a system call that failed, or 0
}

// TriggerName returns the name that the manifest uses. The snapshot before a signal ends the
// process shows the heap as it was, as one that the user requests does.
func (e *Event) TriggerName() string {
	if e == nil {
		return ""
	}
	if e.Trigger == "signal" || e.Signal != 0 {
		return TriggerManual
	}
	return e.Trigger
}

// Events reads the events files of a recording while they grow.
type Events struct {
	prefix string // path with which the names begin
	files  map[string]*eventFile
	images map[int]int // by process: the number of the last process image
}

// eventFile is one events file.
type eventFile struct {
	read      int64 // bytes of complete lines
	pid       int
	image     int
	bad       error // of the first malformed line
	problems  map[string]*problemEvent
	snapshots map[int]*Event // by number, those that Of has not returned
}

// NewEvents returns the events of a recording whose names begin with the path prefix.
func NewEvents(prefix string) *Events {
	return &Events{prefix: prefix, files: map[string]*eventFile{}, images: map[int]int{}}
}

// ImageName returns the name of the file of a process image that has a suffix.
func ImageName(prefix string, pid, image int, suffix string) string {
	if image == 0 {
		return fmt.Sprintf("%s.%d%s", prefix, pid, suffix)
	}
	return fmt.Sprintf("%s.%d.%d%s", prefix, pid, image, suffix)
}

// ImageOf returns the number of the image of a process whose file with a suffix has the given name: the inverse of
// [ImageName] with any prefix.
func ImageOf(name string, pid int, suffix string) (image int, ok bool) {
	stem, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	_, rest, ok := strings.Cut(stem, fmt.Sprintf(".%d", pid))
	number, inImage := strings.CutPrefix(rest, ".")
	image, err := strconv.Atoi(cmp.Or(number, "0"))
	return image, ok && (rest == "" || inImage && number != "" && err == nil)
}

// Of returns the event of a snapshot, or nil if there is none.
func (f *Events) Of(s *Snapshot) *Event {
	for image := f.images[s.Name.PID]; s.Name.PID != 0; image++ {
		path := ImageName(f.prefix, s.Name.PID, image, EventsSuffix)
		if !f.readFile(path) {
			break
		}
		f.images[s.Name.PID] = image
		if e := f.files[path].snapshots[s.Name.Seq]; e != nil {
			delete(f.files[path].snapshots, s.Name.Seq)
			return e
		}
	}
	return nil
}

// maxEvents is the number of bytes that are read of an events file at once.
const maxEvents = 1 << 20

// readFile reads the complete lines that are new in a file. It returns false if there is no such
// file.
func (f *Events) readFile(path string) bool {
	r, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer r.Close()
	file := f.files[path]
	if file == nil {
		file = &eventFile{problems: map[string]*problemEvent{}, snapshots: map[int]*Event{}}
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
func (f *Events) add(file *eventFile, line []byte, path string) {
	var e eventLine
	err := json.Unmarshal(line, &e)
	switch {
	case err != nil:
		file.fail(path, err)
	case e.Schema != "" && e.Schema != eventsSchema:
		file.fail(path, fmt.Errorf("schema %q, want %q", e.Schema, eventsSchema))
	case e.Schema != "":
		file.pid, file.image = e.PID, e.Image
	case e.Snapshot != nil:
		e.Snapshot.Image = file.image
		file.snapshots[e.Snapshot.Seq] = e.Snapshot
	case e.Problem != nil:
		file.problems[e.Problem.Kind] = e.Problem
	}
}

// Finish reads the rest of all files, removes them, and returns the problems that they report,
// ordered by process and kind. The errors are those of the files themselves, and those with which
// the engine failed to write.
func (f *Events) Finish() (problems []manifest.Problem, errs []error) {
	for _, path := range f.list(EventsSuffix) { // processes that are not recorded have one, too
		f.readFile(path)
	}
	for path, file := range f.files {
		for _, p := range file.problems {
			switch errno := unix.Errno(p.Errno); errno {
			case 0:
			case unix.ETIMEDOUT: // of the engine's own wait
				errs = append(errs, fmt.Errorf("%s: %s", path, p.Detail))
			default:
				errs = append(errs, &os.PathError{Op: "write", Path: path, Err: errno})
			}
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

// Remove removes the events file and the frames file of a process image that has ended. What the
// events file tells of problems is lost.
func (f *Events) Remove(pid, image int) {
	path := ImageName(f.prefix, pid, image, EventsSuffix)
	_ = os.Remove(path)
	_ = os.Remove(ImageName(f.prefix, pid, image, manifest.FramesSuffix))
	delete(f.files, path)
	delete(f.images, pid)
}

// ProblemText returns a problem of the engine as a note to the user.
func ProblemText(p manifest.Problem) string {
	if p.Kind == manifest.ProblemDisabled {
		return fmt.Sprintf("process %d is not recorded: %s", p.PID, p.Text())
	}
	return fmt.Sprintf("process %d: %s", p.PID, p.Text())
}

// Frames returns the paths of all frames files, sorted.
func (f *Events) Frames() []string { return f.list(manifest.FramesSuffix) }

// list returns the paths of all files of the recording that have a suffix, sorted.
func (f *Events) list(suffix string) (paths []string) {
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
