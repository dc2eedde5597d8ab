// Package filename reads the names of snapshot files: which process wrote one, when in its series,
// and why.
package filename

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Name is the decoded name of a snapshot.
type Name struct {
	// Prefix is everything before the parts below, including the directory.
	Prefix string
	PID    int // 0 if the name has none
	Seq    int // -1 if the name has none
	// Trigger is the reason for the snapshot, if the name has it.
	Trigger Trigger
	// Jemalloc is set if the name has jemalloc's grammar.
	Jemalloc bool
	// Time is when the snapshot was taken; zero if the name does not have it.
	Time time.Time
}

// Trigger is why an allocator wrote a snapshot.
type Trigger uint8

// The triggers. The names of gperftools do not have one.
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

// ParseTrigger returns the trigger of a name, other than that of TriggerUnknown.
func ParseTrigger(name string) (t Trigger, ok bool) {
	i := slices.Index(triggerNames[:], name)
	return Trigger(max(i, 0)), i > 0
}

// Parse decodes the name of a snapshot file:
//
//	profile.0001.heap           gperftools
//	profile_4711.0001.heap      gperftools, a later process or HEAPPROFILE_USE_PID
//	jeprof.4711.0.i0.heap       jemalloc: i interval, m manual, u high water, f final
//	jeprof.1.4711.0.f.heap      jemalloc with prof_pid_namespace
//	prog.4711._main_-end.heap   gperftools' heap checker
//
//	heap.0001.pb                a pprof profile: .pb, .pprof, .prof in place of .heap
//
//	memprof.2026-01-02T03_04_05.678.2345678.pprof    CockroachDB: time and bytes in use
//	jeprof.2026-01-02T03_04_05.678.2345678.jeprof    the same, written by jemalloc
//
// with an optional .gz or .zst. Any other name is a prefix without a number.
func Parse(path string) Name {
	dir, base := filepath.Split(path)
	stem, ext := CutExtension(base)
	if ext == "" {
		return Name{Prefix: path, Seq: -1}
	}
	parts := strings.Split(stem, ".")
	if n, ok := parseJemallocName(parts); ok {
		n.Prefix = dir + n.Prefix
		return n
	}
	if prefix, at, ok := cutTime(parts); ok {
		return Name{Prefix: dir + prefix, Seq: -1, Trigger: TriggerHighWater, Time: at}
	}
	if n := len(parts); n > 1 {
		if seq, ok := number(parts[n-1]); ok && (ext == ".heap" || len(parts[n-1]) <= maxProfileDigits) {
			prefix := strings.Join(parts[:n-1], ".")
			return Name{Prefix: dir + prefix, PID: pidSuffix(prefix), Seq: seq}
		}
		if strings.HasSuffix(parts[n-1], "-end") || strings.HasSuffix(parts[n-1], "-beg") {
			pid, _ := number(parts[n-2])
			return Name{Prefix: dir + stem, PID: pid, Seq: -1, Trigger: TriggerManual}
		}
	}
	return Name{Prefix: path, Seq: -1}
}

// cutTime decodes <prefix>.<time>.<milliseconds>.<bytes>, split at its dots. CockroachDB gives
// these names to the profiles that it takes when memory reaches a new high. The time is UTC.
func cutTime(parts []string) (prefix string, at time.Time, ok bool) {
	n := len(parts)
	if n < 4 || len(parts[n-2]) != 3 || parts[n-1] == "" || strings.Trim(parts[n-1], "0123456789") != "" {
		return "", time.Time{}, false
	}
	at, err := time.Parse("2006-01-02T15_04_05.000", parts[n-3]+"."+parts[n-2])
	return strings.Join(parts[:n-3], "."), at, err == nil
}

// maxProfileDigits is the largest number of digits of a pprof profile's number. A longer one is a
// date: mem.20260102.prof.
const maxProfileDigits = 5

// extensions are those of snapshots.
var extensions = []string{".heap", ".pb", ".pprof", ".prof", ".jeprof"}

// Extensions returns the extensions of snapshots that are not compressed.
func Extensions() []string { return slices.Clone(extensions) }

// CutExtension returns a name without .heap.gz or another extension of snapshots, and the
// extension, such as .heap; "" if the name has none.
func CutExtension(name string) (stem, ext string) {
	name = TrimCompression(name)
	for _, ext := range extensions {
		if stem, ok := strings.CutSuffix(name, ext); ok {
			return stem, ext
		}
	}
	return name, ""
}

// OfSnapshots reports whether an entry of a directory has the name of a snapshot, or of a recording
// of many snapshots.
func OfSnapshots(name string) bool { return OfSnapshot(name) || OfRecording(name) }

// OfSnapshot reports whether a name has an extension of snapshots.
func OfSnapshot(name string) bool {
	_, ext := CutExtension(name)
	return ext != ""
}

// OfRecording recognizes the names that heaptrack and massif choose for recordings of many
// snapshots.
func OfRecording(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "heaptrack.") || strings.HasPrefix(name, "massif.out.")
}

// TrimCompression removes the suffix .gz or .zst from a name.
func TrimCompression(name string) string {
	for _, ext := range compressions {
		if s, ok := strings.CutSuffix(name, ext); ok {
			return s
		}
	}
	return name
}

var compressions = []string{".gz", ".zst"}

// Compressed returns the names that the compressed copies of a snapshot have. It returns none for
// the name of a compressed file.
func Compressed(name string) []string {
	if !OfSnapshot(name) || TrimCompression(name) != name {
		return nil
	}
	return []string{name + compressions[0], name + compressions[1]}
}

// parseJemallocName decodes <prefix>[.<pidns>].<pid>.<seq>.<v>, split at its dots.
func parseJemallocName(parts []string) (Name, bool) {
	n := len(parts)
	if n < 4 {
		return Name{}, false
	}
	trigger, ok := jemallocTrigger(parts[n-1])
	seq, seqOK := number(parts[n-2])
	pid, pidOK := number(parts[n-3])
	if !ok || !seqOK || !pidOK {
		return Name{}, false
	}
	prefix := parts[:n-3]
	return Name{Prefix: strings.Join(prefix, "."), PID: pid, Seq: seq, Trigger: trigger, Jemalloc: true}, true
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

// HasPrefix reports whether an allocator that was told to write to a prefix chooses the name.
func (n Name) HasPrefix(prefix string) bool {
	if !n.Time.IsZero() {
		return n.Prefix == prefix
	}
	if n.Seq < 0 {
		return false
	}
	rest, ok := strings.CutPrefix(n.Prefix, prefix)
	if n.PID != 0 {
		rest = strings.TrimSuffix(rest, fmt.Sprintf("_%d", n.PID))
	}
	return ok && (rest == "" || isInfix(rest, n.Jemalloc))
}

// isInfix recognizes what an allocator writes between prefix and number: .rank-3 and .slurmid-3
// (gperftools under MPI and Slurm), .1 (jemalloc's PID namespace).
func isInfix(s string, jemalloc bool) bool {
	for _, lead := range []string{".rank-", ".slurmid-"} {
		if rank, ok := strings.CutPrefix(s, lead); ok {
			_, ok = number(rank)
			return ok
		}
	}
	_, isNumber := number(strings.TrimPrefix(s, "."))
	return jemalloc && s[0] == '.' && isNumber
}
