package heaptrack

import (
	"slices"

	"github.com/google/pprof/profile"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/recording"
)

// checked is the number of stacks after which Options.Check is called. Their locations take up to 8
// MiB.
const checked = 4096

// depthLimit is the number of frames that heaptrack keeps: Trace::MAX_SIZE without its own two.
const depthLimit = 64 - 2

// emit calls a function with the snapshots at the checkpoints.
func (r *reader) emit(emit func(recording.Snapshot) error) error {
	w := &writer{
		reader: r,
		tables: recording.NewTables(r.out.Tool+" "+r.out.Version,
			"alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count", "inuse_space", "bytes"),
		locations: make([]*profile.Location, len(r.calls)),
		samples:   make([]*profile.Sample, len(r.counts)),
	}
	w.tables.DepthLimit(depthLimit)
	for _, c := range r.checkpoints {
		for i, change := range c.changes {
			if i%checked == 0 && r.check != nil {
				if err := r.check(0); err != nil {
					return err
				}
			}
			w.set(change.stack, change.counts)
		}
		err := emit(recording.Snapshot{At: c.at, RSS: c.rss, Profile: w.tables.Profile(w.all)})
		if err != nil {
			return err
		}
	}
	return nil
}

// writer turns stacks into samples. The samples of one snapshot become those of the next.
type writer struct {
	*reader
	tables    *recording.Tables
	locations []*profile.Location // by call
	samples   []*profile.Sample   // by stack
	all       []*profile.Sample
}

// set sets the counts of a stack.
func (w *writer) set(stack uint32, c heapfile.Counts) {
	s := w.samples[stack]
	if s == nil {
		s = &profile.Sample{Location: w.stack(stack), Value: make([]int64, 4)}
		w.samples[stack] = s
		w.all = append(w.all, s)
	}
	copy(s.Value, []int64{c.AllocObjects, c.AllocBytes, c.InuseObjects, c.InuseBytes})
}

// stack returns the locations of a stack, leaf first.
func (w *writer) stack(n uint32) (out []*profile.Location) {
	for n != 0 {
		s := w.stacks[n-1]
		if s.call != 0 {
			out = append(out, w.location(s.call-1))
		}
		n = s.caller
	}
	return out
}

func (w *writer) location(n uint32) *profile.Location {
	if w.locations[n] == nil {
		c := w.calls[n]
		if !w.raw && !c.named() { // the base address of the module is not in the recording
			c.frames = []recording.FrameName{{Function: recording.Unnamed(c.module, c.address)}}
		}
		w.locations[n] = w.tables.Location(w.callAddress(c.address), c.module, c.frames)
	}
	return w.locations[n]
}

// callAddress returns an address within the call. Before format 3, raw recordings contain the
// address after it.
func (w *writer) callAddress(a uint64) uint64 {
	if w.raw && w.format < 3 && a > 0 {
		return a - 1
	}
	return a
}

func (c call) named() bool {
	return slices.ContainsFunc(c.frames, func(f recording.FrameName) bool { return f.Function != "" })
}
