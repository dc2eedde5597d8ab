//go:build linux

package record

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"

	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/sig"
	"github.com/heaplapse/heaplapse/internal/record/written"
	"github.com/heaplapse/heaplapse/internal/units"
)

// engine is a profiling allocator that can be preloaded. To add an engine, implement this interface
// and add it to engines.
type engine interface {
	name() string
	// find returns the engine's library for the program of a plan.
	find(p *Plan) (Library, error)
	// seesPython reports whether the engine records objects of CPython that malloc does not
	// allocate.
	seesPython() bool
	// seesGenerated reports whether stacks continue above generated code, such as that of
	// JavaScript.
	seesGenerated() bool
	// refuse returns an error if the engine does not support the options.
	refuse(o *Options) error
	// settings returns the environment variables that configure the engine.
	settings(o *Options) []Setting
	// cost describes the overhead and the accuracy, for the user.
	cost(o *Options) string
	// when describes the times of the snapshots, for the user.
	when(o *Options) string
	// period returns the mean number of bytes between samples, or 0 if every allocation is
	// recorded.
	period(o *Options) int64
	// trigger returns the name of what caused a snapshot. before is the previous snapshot, or nil.
	// highest is the maximum of the bytes in use before s.
	trigger(o *Options, s, before *written.Snapshot, highest int64) string
	// dumpSignal returns the number of the signal that makes the program take a snapshot, or 0.
	dumpSignal(o *Options) int
}

// external is an engine whose library is installed on the system, or given by the user. The adapter
// sends its snapshots.
type external interface {
	engine
	library() *program.Search
	version(path string) string
}

// engines lists the engines. The option auto selects the first one that works.
var engines = []engine{builtin{}, jemalloc{}, tcmalloc{}}

// timerText describes the times at which the timer takes snapshots.
func timerText(o *Options) string {
	switch {
	case o.Every == 0:
		return ""
	case o.Adaptive:
		return fmt.Sprintf("every %s at first, later every 1/%d of the elapsed time", o.Every, DefaultPart)
	}
	return fmt.Sprintf("every %s", o.Every)
}

// whenText describes the times of snapshots of an engine that supports all options. timer is the
// text of the timer.
func whenText(o *Options, timer string) string {
	var alloc, inuse, sig string
	if o.EveryAlloc > 0 {
		alloc = "every " + units.RoundBytes(o.EveryAlloc) + " allocated"
	}
	if o.EveryInuse > 0 {
		inuse = "at every new maximum of the heap by " + units.RoundBytes(o.EveryInuse)
	}
	if o.Signal != "" {
		sig = "at SIG" + signalLabel(o.Signal)
	}
	return joinTexts(timer, alloc, inuse, sig)
}

// signalLabel returns the name of a signal without SIG, or its number if it has no name.
func signalLabel(text string) string {
	if n, err := sig.Number(text); err == nil {
		return cmp.Or(sig.TrimSIG(sig.Name(n)), fmt.Sprint(n))
	}
	return text
}

// signalNumber returns the number of the signal that the user chose, or 0.
func (o *Options) signalNumber() int {
	n, _ := sig.Number(o.Signal)
	return n
}

// sampledCost describes the overhead and the accuracy of an engine that samples.
func sampledCost(period int64) string {
	return fmt.Sprintf("takes one sample per %s allocated: a few percent slower, and sizes are estimates",
		units.RoundBytes(period))
}

// joinTexts joins the texts that are not empty.
func joinTexts(texts ...string) string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return cmp.Or(strings.Join(out, ", "), "only at the end")
}

// log2 returns the logarithm of v to base 2, rounded to the nearest integer. It returns 0 if v < 1.
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
