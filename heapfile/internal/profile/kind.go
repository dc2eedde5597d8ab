package profile

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/internal/lazyregexp"
)

// Producers that are recognized. A profile may also name its producer in a comment "by: NAME
// VERSION", as heaplapse does.
const (
	Go        = "go"
	Jemalloc  = "jemalloc_pprof"
	Datadog   = "datadog"
	TCMalloc  = "tcmalloc"
	Heaplapse = "heaplapse"
	Unknown   = "unknown"
)

// Profile is a profile of the memory in use at one moment, or of the goroutines.
type Profile struct {
	raw
	// Goroutines is set if the objects are goroutines, not memory.
	Goroutines bool
	// Producer is the program or library that wrote the profile.
	Producer string
	// Period is the mean number of bytes between samples; 1 means that every allocation is
	// recorded, 0 that the period is unknown. PeriodAssumed is set if it is the producer's default,
	// because the file does not have it.
	Period        int64
	PeriodAssumed bool
	// HasObjects and HasAlloc report whether the profile counts objects, and what was allocated
	// since the start of the process.
	HasObjects, HasAlloc bool
	// Time is when the profile was taken; zero if it is unknown.
	Time time.Time

	columns columns
	depth   depth
}

// RefusedError is the error of a valid profile of another kind. Kind is what it is; Hint is the
// remedy.
type RefusedError struct{ Kind, Hint string }

func (e *RefusedError) Error() string { return e.Kind + "; " + e.Hint }

// columns are the positions of values in samples; -1 if there is none.
type columns struct {
	inuseObjects, inuseBytes, allocObjects, allocBytes int
}

// stackMin is the least size of a goroutine's stack (runtime/stack.go).
const stackMin = 2 << 10

const heapHint = "read a profile of the heap: /debug/pprof/heap of a Go service"

// classify finds out what the profile counts, and who wrote it.
func (p *Profile) classify() error {
	p.Goroutines, p.PeriodAssumed, p.HasObjects, p.HasAlloc = false, false, false, false
	p.Time = time.Time{}
	if len(p.types) == 0 {
		return &RefusedError{"a pprof profile without sample types", heapHint}
	}
	if err := p.findColumns(); err != nil {
		return err
	}
	switch {
	case p.duration > 0:
		return &RefusedError{fmt.Sprintf("a profile of %s, not of one moment", time.Duration(p.duration).Round(time.Millisecond)),
			"request it without seconds=, and export single profiles instead of a range"}
	case p.period < 0:
		return fmt.Errorf("its period is %d", p.period)
	}
	if p.time > 0 {
		p.Time = time.Unix(0, p.time)
	}
	p.Producer = p.producer()
	p.setPeriod()
	p.setDepth()
	return nil
}

// findColumns finds the sample types by their names.
func (p *Profile) findColumns() error {
	named := map[string]int{}
	for i, t := range p.types {
		named[string(p.bytesOf(t.kind))] = i
	}
	column := func(names ...string) int {
		for _, n := range names {
			if i, ok := named[n]; ok {
				return i
			}
		}
		return -1
	}
	if i := column("goroutine"); i >= 0 {
		p.Goroutines, p.HasObjects = true, true
		p.columns = columns{inuseObjects: i, inuseBytes: -1, allocObjects: -1, allocBytes: -1}
		return nil
	}
	p.columns = columns{
		column("inuse_objects", "objects"), column("inuse_space", "space"), column("alloc_objects"), column("alloc_space"),
	}
	p.HasObjects, p.HasAlloc = p.columns.inuseObjects >= 0, p.columns.allocBytes >= 0
	if !p.HasAlloc {
		p.columns.allocObjects = -1 // without bytes, they are no cumulative counts
	}
	if p.columns.inuseBytes < 0 {
		return p.refuse(column)
	}
	for _, i := range []int{p.columns.inuseBytes, p.columns.allocBytes} {
		if i < 0 {
			continue
		}
		if unit := string(p.bytesOf(p.types[i].unit)); unit != "bytes" && unit != "" {
			return &RefusedError{fmt.Sprintf("a heap profile in %q instead of bytes", unit), "write it in bytes"}
		}
	}
	return nil
}

// refuse names a profile without bytes in use.
func (p *Profile) refuse(column func(names ...string) int) error {
	for _, k := range []struct {
		column int
		kind   string
	}{
		{column("cpu", "samples"), "a CPU profile"},
		{column("contentions", "delay"), "a contention profile (mutex or block)"},
		{column("threadcreate"), "a profile of the creation of threads"},
		{column("allocated_space", "deallocated_space", "censored_allocated_space"), "a profile of lifetimes"},
		{column("alloc_space", "alloc_objects"), "a profile of allocations without what is in use"},
	} {
		if k.column >= 0 {
			return &RefusedError{k.kind + ", not of the heap", heapHint}
		}
	}
	names := make([]string, 0, len(p.types))
	for _, t := range p.types[:min(len(p.types), 8)] {
		name := p.bytesOf(t.kind)
		names = append(names, fmt.Sprintf("%q", name[:min(len(name), 40)]))
	}
	return &RefusedError{"a pprof profile of " + strings.Join(names, ", "), heapHint}
}

// byComment is the comment of a program that names itself.
var byComment = lazyregexp.New(`^by: ([a-z][a-z0-9_-]{0,30})( |$)`)

func (p *Profile) producer() string {
	for _, c := range p.comments {
		if m := byComment().FindSubmatch(p.bytesOf(c)); m != nil {
			return string(m[1])
		}
	}
	switch {
	case p.Goroutines:
		return Go
	case bytes.Contains(p.bytesOf(p.dropFrames), []byte("TCMalloc")):
		return TCMalloc
	case p.columns.inuseObjects < 0 && p.virtual():
		return Jemalloc
	}
	for _, f := range p.funcs {
		file := p.bytesOf(uint64(f.file))
		switch {
		case bytes.HasSuffix(file, []byte(".go")):
			return Go
		case len(p.maps) > 0:
		case bytes.HasPrefix(file, []byte("node:")), bytes.HasSuffix(file, []byte("js")),
			bytes.HasSuffix(file, []byte(".ts")):
			return Datadog
		}
	}
	return Unknown
}

// virtual reports whether a mapping contains ELF virtual addresses.
func (p *Profile) virtual() bool {
	for i := range p.maps {
		if p.maps[i].virtual() {
			return true
		}
	}
	return false
}

// setPeriod sets the period, which some producers do not write.
func (p *Profile) setPeriod() {
	p.Period = p.period
	switch {
	case p.Goroutines:
		p.Period = 1
	case p.period > 0:
	case p.Producer == Jemalloc:
		p.Period, p.PeriodAssumed = 512<<10, true // opt.lg_prof_sample
	case p.Producer == TCMalloc:
		p.Period, p.PeriodAssumed = 2<<20, true // kDefaultProfileSamplingInterval
	}
}
