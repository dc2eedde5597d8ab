package series

import (
	"path/filepath"
	"strconv"
	"strings"
)

// FileName is the decoded name of a snapshot.
type FileName struct {
	// Prefix is everything before the parts below, including the directory.
	Prefix string
	PID    int // 0 if the name has none
	Seq    int // -1 if the name has none
	// Trigger is the reason for the snapshot, if the name has it.
	Trigger Trigger
	// Jemalloc is set if the name has jemalloc's grammar.
	Jemalloc bool
}

// Trigger is why an allocator wrote a snapshot.
type Trigger uint8

// The triggers. The names of gperftools do not have one; see [Series.Triggers].
const (
	TriggerUnknown   Trigger = iota
	TriggerAllocated         // a number of bytes was allocated
	TriggerHighWater         // the heap reached a new high
	TriggerTime              // a timer
	TriggerManual            // a call or a signal
	TriggerExit              // the process ended
	TriggerExec              // the process runs another program
)

var triggerNames = [...]string{"unknown", "allocated", "high-water", "time", "manual", "exit", "exec"}

// String returns the stable name used in JSON, such as "high-water".
func (t Trigger) String() string { return triggerNames[t] }

// ParseFileName decodes the name of a snapshot file:
//
//	profile.0001.heap           gperftools
//	profile_4711.0001.heap      gperftools, a later process or HEAPPROFILE_USE_PID
//	jeprof.4711.0.i0.heap       jemalloc: i interval, m manual, u high water, f final
//	jeprof.1.4711.0.f.heap      jemalloc with prof_pid_namespace
//	prog.4711._main_-end.heap   gperftools' heap checker
//
//	heap.0001.pb                a pprof profile: .pb, .pprof, .prof in place of .heap
//
// with an optional .gz or .zst. Any other name is a prefix without a number.
func ParseFileName(path string) FileName {
	dir, base := filepath.Split(path)
	stem, ext := cutExtension(base)
	if ext == "" {
		return FileName{Prefix: path, Seq: -1}
	}
	parts := strings.Split(stem, ".")
	if n, ok := parseJemallocName(parts); ok {
		n.Prefix = dir + n.Prefix
		return n
	}
	if n := len(parts); n > 1 {
		if seq, ok := number(parts[n-1]); ok && (ext == ".heap" || len(parts[n-1]) <= maxProfileDigits) {
			prefix := strings.Join(parts[:n-1], ".")
			return FileName{Prefix: dir + prefix, PID: pidSuffix(prefix), Seq: seq}
		}
		if strings.HasSuffix(parts[n-1], "-end") || strings.HasSuffix(parts[n-1], "-beg") {
			pid, _ := number(parts[n-2])
			return FileName{Prefix: dir + stem, PID: pid, Seq: -1, Trigger: TriggerManual}
		}
	}
	return FileName{Prefix: path, Seq: -1}
}

// maxProfileDigits is the largest number of digits of a pprof profile's number. A longer one is a date
// or a size: memprof.2026-01-02T03_04_05.678.2345678.pprof.
const maxProfileDigits = 5

// extensions are those of snapshots.
var extensions = []string{".heap", ".pb", ".pprof", ".prof"}

// cutExtension returns a name without the extension of a snapshot, and the extension; "" if the name
// has none.
func cutExtension(name string) (stem, ext string) {
	name = TrimCompression(name)
	for _, ext := range extensions {
		if stem, ok := strings.CutSuffix(name, ext); ok {
			return stem, ext
		}
	}
	return name, ""
}

// TrimExtensions removes the extensions of a snapshot from a name: .heap.gz, .pb.gz.
func TrimExtensions(name string) string {
	stem, _ := cutExtension(name)
	return stem
}

// HasSnapshotName reports whether an entry of a directory has the name of a snapshot, or of a recording
// of many snapshots.
func HasSnapshotName(name string) bool { return hasSnapshotExtension(name) || hasRecordingName(name) }

func hasSnapshotExtension(name string) bool {
	_, ext := cutExtension(name)
	return ext != ""
}

// hasRecordingName recognizes the names that heaptrack and massif choose.
func hasRecordingName(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "heaptrack.") || strings.HasPrefix(name, "massif.out.")
}

// TrimCompression removes the suffix .gz or .zst from a name.
func TrimCompression(name string) string {
	for _, ext := range []string{".gz", ".zst"} {
		if s, ok := strings.CutSuffix(name, ext); ok {
			return s
		}
	}
	return name
}

// parseJemallocName decodes <prefix>[.<pidns>].<pid>.<seq>.<v>, split at its dots.
func parseJemallocName(parts []string) (FileName, bool) {
	n := len(parts)
	if n < 4 {
		return FileName{}, false
	}
	trigger, ok := jemallocTrigger(parts[n-1])
	seq, seqOK := number(parts[n-2])
	pid, pidOK := number(parts[n-3])
	if !ok || !seqOK || !pidOK {
		return FileName{}, false
	}
	prefix := parts[:n-3]
	return FileName{Prefix: strings.Join(prefix, "."), PID: pid, Seq: seq, Trigger: trigger, Jemalloc: true}, true
}

// jemallocTrigger decodes i<n>, m<n>, u<n> and f.
func jemallocTrigger(v string) (Trigger, bool) {
	if v == "f" {
		return TriggerExit, true
	}
	if v == "" {
		return 0, false
	}
	if _, ok := number(v[1:]); !ok {
		return 0, false
	}
	switch v[0] {
	case 'i':
		return TriggerAllocated, true
	case 'm':
		return TriggerManual, true
	case 'u':
		return TriggerHighWater, true
	}
	return 0, false
}

// pidSuffix is the 4711 of profile_4711, where it can be a process number.
func pidSuffix(prefix string) int {
	_, digits, ok := cutLast(prefix, "_")
	pid, isNumber := number(digits)
	if !ok || !isNumber || digits[0] == '0' {
		return 0
	}
	return pid
}

func number(s string) (int, bool) {
	if s == "" || len(s) > 10 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
