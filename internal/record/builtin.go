//go:build linux

package record

import (
	"errors"
	"fmt"
	"os"
	"strings"

	preload "github.com/heaplapse/heaplapse/engine"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/written"
)

// builtin is heaplapse's own engine. It records a sample of the allocations of any allocator, the
// memory that the program maps, and the lines of Python. It needs no library, and reports what
// happens in events files, which package written reads.
type builtin struct{}

func (builtin) name() string { return "builtin" }

// builtinPeriod is the default sample period.
const builtinPeriod = 128 << 10

func (builtin) find(p *Plan) (Library, error) {
	path, err := p.store(preload.Name, "built-in engine", preload.Object)
	return Library{Path: path}, err
}

func (builtin) seesPython() bool { return true }

func (builtin) seesGenerated() bool { return true }

func (builtin) refuse(o *Options) error {
	if o.Library != "" {
		return errors.New(option.Library + ": the built-in engine has no library (tcmalloc and jemalloc have)")
	}
	return nil
}

func (e builtin) settings(o *Options) []Setting {
	return []Setting{engineSetting(o, e.period(o), e.dumpSignal(o))}
}

// engineSetting returns the variable that engine/src/base/config.h describes, without the socket.
// The main program replaces the zeros by its number and its identity.
func engineSetting(o *Options, period int64, signal int) Setting {
	children := map[Scope]int64{MainOnly: 0, Workers: 1, All: 2}
	number := func(condition bool, n int64) int64 {
		if condition {
			return n
		}
		return 0
	}
	var b strings.Builder
	for _, s := range []struct {
		key   string
		value int64
	}{
		{"period", period},
		{"every", o.Every.Milliseconds()},
		{"part", number(o.Adaptive, DefaultPart)},
		{"alloc", o.EveryAlloc},
		{"inuse", o.EveryInuse},
		{"signal", int64(signal)},
		{"children", children[o.Scope]},
		{"python", 1},
		{"mmap", 1},
		{"filters", proc.Filters(os.Getpid())}, // which the trial run has shown to permit what the engine does
	} {
		fmt.Fprintf(&b, "%s=%d ", s.key, s.value)
	}
	fmt.Fprintf(&b, "main=%07d program=%032d", 0, 0)
	return Setting{preload.Variable, b.String()}
}

func (e builtin) cost(o *Options) string {
	if e.period(o) == 1 {
		return "records every allocation: exact, but slower"
	}
	return sampledCost(e.period(o))
}

func (builtin) when(o *Options) string { return whenText(o, timerText(o)) }

func (builtin) period(o *Options) int64 {
	if o.SamplePeriod > 0 {
		return o.SamplePeriod
	}
	return builtinPeriod
}

// trigger is not called for snapshots that have an event, which tells the trigger. Without the
// event it is unknown.
func (builtin) trigger(*Options, *written.Snapshot, *written.Snapshot, int64) string { return "" }

// dumpSignal returns the signal that the user chose. The engine itself takes a snapshot before it
// lets SIGTERM and SIGINT reach the program.
func (builtin) dumpSignal(o *Options) int { return o.signalNumber() }
