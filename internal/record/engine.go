//go:build linux

package record

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"

	"github.com/heaplapse/heaplapse/internal/record/program"
)

// engine is a profiling allocator that can be preloaded. A third one is one more file, and a line in engines.
type engine interface {
	name() string
	library() *program.Search
	version(path string) string
	// refuse says which of the options it cannot honour, and why; nil if it can honour all.
	refuse(o *Options, agent bool) error
	// settings configure it. prefix is the absolute path that snapshots begin with.
	settings(o *Options, prefix string, agent bool) []Setting
	// cost says what it costs the program, when is how it renders the triggers of the options.
	cost(o *Options) string
	when(o *Options, agent bool) string
	// period is the mean distance of samples in bytes, 0 if every allocation is recorded.
	period(o *Options) int64
	// trigger says why a snapshot was taken.
	trigger(o *Options, s *snapshotFile, before *snapshotFile, highest int64) string
	// dumpSignal is the number of the signal that asks for a snapshot, 0 without.
	dumpSignal(o *Options, agent bool) int
}

// engines in the order in which auto takes them.
var engines = []engine{jemalloc{}, tcmalloc{}}

// Names of triggers, as heapfile knows them.
const (
	triggerAllocated = "allocated"
	triggerHighWater = "high-water"
	triggerTime      = "time"
	triggerManual    = "manual"
	triggerExit      = "exit"
)

// timerText says when a timer takes snapshots.
func timerText(o *Options, agent bool) string {
	switch {
	case o.Every == 0:
		return ""
	case o.Adaptive && agent:
		return fmt.Sprintf("every %s at first, then every 1/%d of the time it has run", o.Every, DefaultPart)
	case o.Adaptive:
		return fmt.Sprintf("every %d s", wholeSeconds(o))
	}
	return fmt.Sprintf("every %s", o.Every)
}

func joinTexts(texts ...string) string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return cmp.Or(strings.Join(out, ", "), "at the end only")
}

// log2 rounds to the nearest power of two, on the logarithmic scale, and returns its exponent.
func log2(v int64) int {
	if v <= 1 {
		return 0
	}
	n := bits.Len64(uint64(v)) - 1
	if float64(v) > 1.4142135623730951*float64(int64(1)<<n) {
		n++
	}
	return n
}
