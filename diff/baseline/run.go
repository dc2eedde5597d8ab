package baseline

import (
	"math"
	"time"

	"github.com/heaplapse/heaplapse/diff/identity"
)

// LeastSnapshots is the smallest number of snapshots with a steady level: the median of their second half, which has two then.
const LeastSnapshots = 4

// Steady reports whether the run has enough snapshots for a steady level.
func (m *Meta) Steady() bool { return m.Snapshots >= LeastSnapshots }

// Run is the summary of one run: a series of snapshots of one process image.
type Run struct {
	// Meta says what ran, and how it was recorded.
	Meta Meta
	// Total is the whole heap. The sites and Rest add up to it.
	Total Level
	// Rest is Total less Sites: what is too small to be kept, what truncation hides, and what the sum of medians lacks or has too
	// much (a site's level is a median by itself).
	Rest Level
	// Sites are ranked by their steady level, largest first.
	Sites []Site
}

// Meta identifies a run. Runs of different workloads, formats or sampling periods do not compare.
type Meta struct {
	// Name is that of the baseline's file without its suffix; the PATH of a run that was not saved.
	Name string
	// Recorded is the time of the last snapshot; zero if no clock tells.
	Recorded time.Time
	// Saved is the time of a baseline's file, where Recorded is not known.
	Saved time.Time
	// Workload is what was asked of the program: --workload, else a hash of the recorded command line; "" if neither is known.
	Workload string
	// Command is the recorded command line; nil if there is no manifest.
	Command []string
	// BuildID and Program are of the main binary.
	BuildID, Program string
	// Format is the snapshots' (heapfile.Format's name), Period the sampling period in bytes, 0 for exact counts.
	Format string
	Period int64
	// Snapshots that were summed up, and the time between the first and the last in seconds, 0 if no clock tells.
	Snapshots int
	Span      float64
	// Work is the number of units of work done (--work); 0 if it was not given.
	Work float64
	// HasAlloc says that the snapshots have cumulative counts.
	HasAlloc bool
	// AbsentMax is the most bytes in use that truncation may hide of a site that is absent.
	AbsentMax int64
	// Labels are the user's own, such as a commit.
	Labels map[string]string
	// Notes are facts about the run that a reader of a comparison should know, such as snapshots that were left out.
	Notes []string
}

// When is the time that orders runs.
func (m *Meta) When() time.Time {
	if m.Recorded.IsZero() {
		return m.Saved
	}
	return m.Recorded
}

// Level is what a site, or a heap, comes to over a run.
type Level struct {
	// Bytes and Objects in use: the median of the second half of the snapshots.
	Bytes, Objects float64
	// Peak is the largest number of bytes in use.
	Peak float64
	// Slope of the bytes in use in bytes per hour, robust (Theil-Sen), 0 without a clock. SlopeError is its standard error.
	Slope, SlopeError float64
	// AllocBytes and AllocObjects are cumulative, of the last snapshot; 0 without cumulative counts.
	AllocBytes, AllocObjects float64
	// Noise is the standard deviation that sampling gives Bytes; 0 for exact counts.
	Noise float64
}

// Add returns l + m. Standard deviations add up as those of independent values do.
func (l Level) Add(m Level) Level {
	return Level{
		Bytes: l.Bytes + m.Bytes, Objects: l.Objects + m.Objects, Peak: l.Peak + m.Peak,
		Slope: l.Slope + m.Slope, SlopeError: math.Hypot(l.SlopeError, m.SlopeError),
		AllocBytes: l.AllocBytes + m.AllocBytes, AllocObjects: l.AllocObjects + m.AllocObjects,
		Noise: math.Hypot(l.Noise, m.Noise),
	}
}

// Sub is what is left of l without m. Peaks and standard deviations do not subtract: they are 0.
func (l Level) Sub(m Level) Level {
	return Level{
		Bytes: l.Bytes - m.Bytes, Objects: l.Objects - m.Objects, Slope: l.Slope - m.Slope,
		AllocBytes: l.AllocBytes - m.AllocBytes, AllocObjects: l.AllocObjects - m.AllocObjects,
	}
}

// Site is an allocation site, described without addresses.
type Site struct {
	Level
	// Identity recognises it in another run.
	Identity identity.Site
	// Frames are the whole stack, leaf first; an inlined callee precedes its caller.
	Frames []Frame
	// Blame is the index in Frames of the one that the allocation is put down to, -1 if there is none.
	Blame int
}

// Frame is one function of a stack.
type Frame struct {
	Function, Module, File string
	Line                   int
}
