package series

import (
	"slices"
	"time"
)

// ClockSource is the source of the time axis of a series.
type ClockSource uint8

// The sources, best first.
const (
	ClockManifest  ClockSource = iota // the recorder's manifest
	ClockRecorded                     // times stored within the files (gzip headers)
	ClockModified                     // the files' modification times
	ClockAllocated                    // bytes allocated so far: not seconds
	ClockIndex                        // the number of the snapshot, or its position in a recording: not seconds
)

var clockNames = [...]string{"sidecar", "recorded", "mtime", "allocated-bytes", "index"}

// String returns the stable name used in JSON, such as "mtime".
func (c ClockSource) String() string { return clockNames[c] }

// IsTime reports whether the axis is in seconds.
func (c ClockSource) IsTime() bool { return c <= ClockModified }

// Clock is the time axis of a series.
type Clock struct {
	Source ClockSource
	// At is the position of each snapshot: seconds since the earliest one, bytes allocated, or the
	// index. It rises within a process image. The seconds of a later image may be lower than those
	// of an earlier one, if a restarted program overwrote the first files.
	At []float64
	// Times are the wall clock times; nil unless Source.IsTime().
	Times []time.Time
}

// Span returns the distance from the earliest snapshot to the latest.
func (c Clock) Span() float64 {
	if len(c.At) == 0 {
		return 0
	}
	return slices.Max(c.At) - slices.Min(c.At)
}

// newClock takes the best source that all snapshots have.
func newClock(heads []*Head, manifest []time.Time) Clock {
	for _, c := range []struct {
		source ClockSource
		times  []time.Time
	}{
		{ClockManifest, manifest},
		{ClockRecorded, timesOf(heads, func(s *Head) time.Time { return s.Recorded })},
		{ClockModified, timesOf(heads, func(s *Head) time.Time { return s.Modified })},
	} {
		if plausible(c.times, heads, c.source != ClockManifest) {
			return Clock{c.source, elapsed(c.times), c.times}
		}
	}
	if at, ok := allocatedAxis(heads); ok {
		return Clock{Source: ClockAllocated, At: at}
	}
	return Clock{Source: ClockIndex, At: positions(heads)}
}

// positions returns the positions of snapshots of one recording without times, or else their
// numbers.
func positions(heads []*Head) []float64 {
	at := make([]float64, len(heads))
	for i, h := range heads {
		at[i] = float64(i)
		if h.position != nil {
			at[i] = *h.position
		}
	}
	return at
}

func timesOf(heads []*Head, get func(*Head) time.Time) []time.Time {
	times := make([]time.Time, len(heads))
	for i, h := range heads {
		times[i] = get(h)
	}
	return times
}

// plausible reports whether times exist and rise within each process image (a few may be equal).
// Times of files must be further apart than those of copies: a copy, a checkout or an unpacked
// archive gives each file a new time within milliseconds of the one before.
func plausible(times []time.Time, heads []*Head, ofFiles bool) bool {
	const copied = 50 * time.Millisecond
	if len(times) == 0 || times[0].IsZero() {
		return false
	}
	steps := make([]time.Duration, 0, len(times))
	ties := 0
	for i := 1; i < len(times); i++ {
		step := times[i].Sub(times[i-1])
		if heads[i].Image != heads[i-1].Image && !times[i].IsZero() {
			continue
		}
		if step < 0 {
			return false
		}
		if step == 0 {
			ties++
		}
		steps = append(steps, step)
	}
	if len(steps) == 0 {
		return true
	}
	slices.Sort(steps)
	return 5*ties <= len(steps) && (!ofFiles || steps[len(steps)/2] >= copied)
}

func elapsed(times []time.Time) []float64 {
	earliest := slices.MinFunc(times, time.Time.Compare)
	at := make([]float64, len(times))
	for i, t := range times {
		at[i] = t.Sub(earliest).Seconds()
	}
	return at
}

// allocatedAxis returns the bytes allocated since the first process image began. It needs
// cumulative counts that grow.
func allocatedAxis(heads []*Head) ([]float64, bool) {
	at := make([]float64, len(heads))
	var before float64
	for i, h := range heads {
		if !h.HasAlloc {
			return nil, false
		}
		if i > 0 && h.Image != heads[i-1].Image {
			before = at[i-1]
		}
		at[i] = before + float64(h.Heap().AllocBytes)
	}
	return at, len(at) < 2 || (slices.IsSorted(at) && at[len(at)-1] > at[0])
}
