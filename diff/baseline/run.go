package baseline

import (
	"cmp"
	"math"
	"path"
	"regexp"
	"time"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/symbolize"
)

// LeastSnapshots is the smallest number of snapshots with a steady level: the median of their
// second half, which has two then.
const LeastSnapshots = 4

// Steady reports whether the run has enough snapshots for a steady level.
func (m *Meta) Steady() bool { return m.Snapshots >= LeastSnapshots }

// Run is the summary of one run: a series of snapshots of one process image.
type Run struct {
	// Meta describes the program, and how it was recorded.
	Meta Meta
	// Total is the whole heap. Sites and Rest add up to it.
	Total Level
	// Rest is Total minus Sites: sites that are too small to be kept, sites that truncation hides,
	// and the difference between the median of a sum and the sum of medians, for the level of each
	// site is a median.
	Rest Level
	// Sites are ranked by their steady level, largest first.
	Sites []Site
}

// Meta describes a run. Runs of different workloads, formats or sampling periods are not
// comparable.
type Meta struct {
	// Name is that of the file without its suffix, or the path of the snapshots of a run that was
	// not saved.
	Name string
	// Recorded is the time of the last snapshot; zero without a clock.
	Recorded time.Time
	// Saved is the time at which the file was written; zero if Recorded is known.
	Saved time.Time
	// Workload identifies the work that the program did: a name from the user, else a hash of the
	// command line; "" if both are unknown.
	Workload string
	// Command is the recorded command line; nil without a manifest.
	Command []string
	// BuildID and Program are of the main binary.
	BuildID, Program string
	// Format is the name of the snapshots' heapfile.Format. Period is the sampling period in bytes,
	// 0 for exact counts.
	Format string
	Period int64
	// Method is how the run was recorded, "record" or "attach"; "" if that is not known.
	Method string
	// Engine is the profiler that recorded it, such as builtin or tcmalloc; "" if that is not known.
	Engine string
	// Snapshots is the number of snapshots that were summarized. Span is the time between the first
	// and the last in seconds, 0 without a clock.
	Snapshots int
	Span      float64
	// Processes is the number of processes that are added up; 0 means one. The other facts are
	// those of the main one.
	Processes int
	// Work is the number of units of work that were done, such as requests; 0 if it is unknown.
	Work float64
	// HasAlloc reports whether the snapshots have cumulative counts.
	HasAlloc bool
	// AbsentMax is the largest number of bytes in use that truncation may hide of a site that is
	// absent.
	AbsentMax int64
	// Failure is how the program ended if it failed: "exit status 1", "SIGSEGV"; else "".
	Failure string
	// Labels are from the user, such as a commit.
	Labels map[string]string
	// Notes are facts about the run, as text, that a reader of a comparison must know, such as
	// snapshots that were left out.
	Notes []string
}

// When returns the time by which runs are ordered.
func (m *Meta) When() time.Time {
	if m.Recorded.IsZero() {
		return m.Saved
	}
	return m.Recorded
}

// OtherMethod reports whether two runs were recorded in different ways, so that only one of them has what its program
// allocated at the start.
func (m *Meta) OtherMethod(o *Meta) bool {
	return m.Method != o.Method && m.Method != "" && o.Method != ""
}

// interpreters are programs that rarely change from run to run, because they run the code that does.
var interpreters = regexp.MustCompile(`^(java|lua|node|perl|php|python|ruby)[-.0-9]*$`)

// Interpreted reports whether the main program is an interpreter.
func (m *Meta) Interpreted() bool { return interpreters.MatchString(m.Program) }

// Level summarizes a site, or a heap, over a run.
type Level struct {
	// Bytes and Objects in use: the median of the second half of the snapshots.
	Bytes, Objects float64
	// Peak is the largest number of bytes in use.
	Peak float64
	// Slope is the Theil-Sen slope of the bytes in use in bytes per hour, 0 without a clock.
	// SlopeError is its standard error.
	Slope, SlopeError float64
	// AllocBytes and AllocObjects are the cumulative counts of the last snapshot; 0 if it has none.
	AllocBytes, AllocObjects float64
	// Noise is the standard deviation of Bytes due to sampling; 0 for exact counts.
	Noise float64
	// Swing is the largest fall that Bytes rose from again, as those of a cache that is emptied now and
	// then; 0 if there was none.
	Swing float64
}

// Add returns l + m. Standard deviations add up in squares, as those of independent values. Swings
// may be at the same time.
func (l Level) Add(m Level) Level {
	return Level{
		Bytes: l.Bytes + m.Bytes, Objects: l.Objects + m.Objects, Peak: l.Peak + m.Peak,
		Slope: l.Slope + m.Slope, SlopeError: math.Hypot(l.SlopeError, m.SlopeError),
		AllocBytes: l.AllocBytes + m.AllocBytes, AllocObjects: l.AllocObjects + m.AllocObjects,
		Noise: math.Hypot(l.Noise, m.Noise), Swing: l.Swing + m.Swing,
	}
}

// Sub returns l − m. Peaks, swings and standard deviations cannot be subtracted: they are 0.
func (l Level) Sub(m Level) Level {
	return Level{
		Bytes: l.Bytes - m.Bytes, Objects: l.Objects - m.Objects, Slope: l.Slope - m.Slope,
		AllocBytes: l.AllocBytes - m.AllocBytes, AllocObjects: l.AllocObjects - m.AllocObjects,
	}
}

// Site is an allocation site, described without addresses.
type Site struct {
	Level
	// Identity identifies it in another run.
	Identity identity.Site
	// Frames are the whole stack, leaf first; an inlined callee precedes its caller. Of each, a
	// baseline keeps the function, the module, the file and the line.
	Frames []symbolize.Frame
	// Blame is the index in Frames of the function that the allocation is attributed to, -1 for
	// none.
	Blame int
	// Holder is what holds nearly all blocks of its function, or else its own, in words; "" if that is
	// not known.
	Holder string
}

// File returns the base name of the source file of the function that the site is attributed to,
// because directories differ between machines; else that of its module; "" for no function.
func (s *Site) File() string {
	if s.Blame < 0 {
		return ""
	}
	f := &s.Frames[s.Blame]
	return path.Base(cmp.Or(f.File, f.Module))
}

// Keys returns the keys by which the site is found in runs of other hosts.
func (s *Site) Keys() identity.Keys { return identity.KeysOf(s.Frames, s.Blame) }
