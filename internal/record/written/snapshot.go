//go:build linux

package written

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// Name holds the fields of the name of a snapshot: <prefix>_<pid>.<seq>.heap,
// <prefix>.<seq>.heap, or jemalloc's <prefix>.<pid>.<seq>.<kind>.heap.
type Name struct {
	PID, Seq int
	Kind     byte // i, m, u or f for jemalloc; 0 for gperftools
}

// ParseName decodes the base name of a snapshot. prefix is the base name of the recording's prefix.
func ParseName(base, prefix string) (Name, bool) {
	rest, ok := strings.CutPrefix(base, prefix)
	rest, isHeap := strings.CutSuffix(rest, ".heap")
	if !ok || !isHeap {
		return Name{}, false
	}
	before, parts, _ := strings.Cut(rest, ".")
	fields := strings.Split(parts, ".")
	var n Name
	var numbers []string
	switch {
	case len(fields) == 3 && before == "" && fields[2] != "": // pid, seq, kind
		n.Kind = fields[2][0]
		numbers = fields[:2]
	case len(fields) == 1 && before == "":
		numbers = []string{"0", fields[0]}
	case len(fields) == 1 && before[0] == '_':
		numbers = []string{before[1:], fields[0]}
	default:
		return Name{}, false
	}
	var err1, err2 error
	n.PID, err1 = strconv.Atoi(numbers[0])
	n.Seq, err2 = strconv.Atoi(numbers[1])
	return n, err1 == nil && err2 == nil
}

// Names of triggers. They are those of heapfile.Trigger.
const (
	TriggerAllocated = "allocated"
	TriggerHighWater = "high-water"
	TriggerTime      = "time"
	TriggerManual    = "manual"
	TriggerExit      = "exit"
)

// Snapshot is what the name, the header and the mappings of a snapshot tell.
type Snapshot struct {
	Path string
	Name Name
	Time time.Time
	Size int64 // of the file
	// InuseBytes and AllocBytes are the totals of the header, for gperftools only.
	InuseBytes, AllocBytes int64
	Maps                   []string // paths of the mapped files, by address
	Base                   string   // address and path of the first mapping, which is the program's
}

// ErrIncomplete reports that a snapshot has no list of mapped files, which is its last section.
var ErrIncomplete = errors.New("the snapshot is not complete")

// ReadSnapshot reads the header and the mappings. It skips the rows.
func ReadSnapshot(path string, name Name) (*Snapshot, error) {
	f, info, err := infile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &Snapshot{Path: path, Name: name, Time: info.ModTime(), Size: info.Size()}
	head, err := bufio.NewReader(io.LimitReader(f, 512)).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, ErrIncomplete)
	}
	s.header(head)
	maps, err := mapsOf(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.mappings(maps)
	return s, nil
}

// header parses the first line, such as `heap profile:    123:   456789 [   234:   567890] @ heapprofile`.
func (s *Snapshot) header(line string) {
	var objects, allocs int64
	line = strings.NewReplacer("[", " ", ":", " ", "]", " ").Replace(line)
	_, err := fmt.Sscanf(line, "heap profile %d %d %d %d", &objects, &s.InuseBytes, &allocs, &s.AllocBytes)
	if err != nil {
		s.InuseBytes, s.AllocBytes = 0, 0
	}
}

var mapsMark = []byte("\nMAPPED_LIBRARIES:\n")

// maxMaps is the maximum size of the list of mapped files, in bytes.
const maxMaps = 64 << 20

// mapsOf returns the section at the end of a file that lists the mapped files. It reads a growing
// part of the file.
func mapsOf(f io.ReaderAt, size int64) ([]byte, error) {
	for window := int64(128 << 10); ; window *= 8 {
		from := max(0, size-window)
		b := make([]byte, size-from)
		if _, err := f.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if i := bytes.LastIndex(b, mapsMark); i >= 0 {
			return b[i+len(mapsMark):], nil
		}
		if from == 0 || window > maxMaps {
			return nil, ErrIncomplete
		}
	}
}

// mappings parses lines of /proc/PID/maps, such as
// `55d0c0400000-55d0c0401000 r-xp 00001000 00:00 123  /usr/bin/python3`.
func (s *Snapshot) mappings(text []byte) {
	seen := map[string]bool{}
	for line := range bytes.Lines(text) {
		slash := bytes.IndexByte(line, '/')
		if slash < 0 {
			continue
		}
		path := strings.TrimRight(string(line[slash:]), "\n")
		if s.Base == "" {
			start, _, _ := strings.Cut(string(line), "-")
			s.Base = start + " " + path
		}
		if !seen[path] {
			seen[path] = true
			s.Maps = append(s.Maps, path)
		}
	}
}

// Exe returns the path of the program that wrote the snapshot, or "" if it is unknown.
func (s *Snapshot) Exe() string {
	if len(s.Maps) == 0 {
		return ""
	}
	return strings.TrimSuffix(s.Maps[0], proc.DeletedSuffix)
}

// FileName returns the base name of the file.
func (s *Snapshot) FileName() string { return filepath.Base(s.Path) }
