package heapfile

import (
	"cmp"
	"math"
)

// cutSize is the size of the buffer in which gperftools ≤2.15 prints a whole
// dump (src/heap-profiler.cc kProfileBufferSize), and lastRow the most that one
// more row would have needed: 35 bytes and 32 addresses.
const (
	cutSize = 1 << 20
	lastRow = 35 + 32*19
)

// finish derives what can be said of a snapshot once all of it was read.
func (d *Decoder) finish() {
	s, c := d.snap, &d.snap.Completeness
	s.Size, s.Rows = d.lines.size, len(s.Samples)
	s.HasAlloc = hasAlloc(s)
	c.Sorted = c.Sorted && s.Format == FormatHeapProfile && len(s.Samples) > 1
	d.noteCut()
	d.compareHeader()
	if len(s.Mappings) == 0 && !c.Unfinished {
		d.warn.add(WarnNoMappings, d.lines.number, "no mappings: addresses cannot be named")
	}
	d.noteStacks()
	s.Warnings = d.warn.list
}

// hasAlloc says whether the cumulative counts mean something. gperftools' sampled
// dumps repeat the in-use pair in the brackets, jemalloc writes zeros there
// unless prof_accum is on; its heap profiler always counts.
func hasAlloc(s *Snapshot) bool {
	switch s.Format {
	case FormatHeapProfile:
		return true
	case FormatGrowth, FormatGrowthz, FormatFragmentationz:
		return false
	case FormatJemalloc:
		return s.Total.AllocObjects != 0 || s.Total.AllocBytes != 0
	}
	t := s.Total
	return (t.AllocObjects != t.InuseObjects && t.AllocObjects != 0) ||
		(t.AllocBytes != t.InuseBytes && t.AllocBytes != 0)
}

// missing is what the header counts and the rows do not.
func missing(s *Snapshot) Counts {
	if !s.HasTotal {
		return Counts{}
	}
	return s.Total.Sub(s.Completeness.Rows)
}

// compareHeader reports a header that disagrees with its rows. A jemalloc dump
// is taken while other threads allocate, so there it means nothing; what a cut file lacks is said once.
func (d *Decoder) compareHeader() {
	s := d.snap
	m := missing(s)
	if m == (Counts{}) || s.Format == FormatJemalloc || s.Completeness.Truncated {
		return
	}
	if m.InuseObjects == 0 && m.InuseBytes == 0 && !s.HasAlloc {
		return
	}
	d.warn.add(WarnHeaderMismatch, d.headerLine, "header minus rows: %d objects, %d bytes in use; %d objects, %d bytes allocated",
		m.InuseObjects, m.InuseBytes, m.AllocObjects, m.AllocBytes)
}

// noteCut recognises a dump that fills gperftools' buffer and derives the
// bound for stacks that are absent: no more than the header counts beyond the
// rows and, as rows are sorted, no more in use than the smallest row.
func (d *Decoder) noteCut() {
	s, c := d.snap, &d.snap.Completeness
	m := missing(s)
	full := s.Size <= cutSize && s.Size >= cutSize-lastRow
	if s.Format == FormatHeapProfile && full && (m.AllocBytes > 0 || m.InuseBytes > 0) {
		c.Truncated = true
	}
	if c.Truncated && !c.Unfinished {
		d.warn.add(WarnTruncated, cmp.Or(d.rowLine, d.headerLine), "cut at 1 MiB by the allocator (gperftools before 2.16): the smallest sites are missing, %d bytes in use and %d of all that was allocated",
			m.InuseBytes, m.AllocBytes)
	}
	switch {
	case !s.Format.Sampled():
		c.AbsentMax = Counts{
			max(0, m.InuseObjects), max(0, m.InuseBytes),
			max(0, m.AllocObjects), max(0, m.AllocBytes),
		}
	case c.Truncated: // raw totals do not bound estimates
		c.AbsentMax = Counts{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}
	}
	if !s.HasAlloc {
		c.AbsentMax.AllocObjects, c.AbsentMax.AllocBytes = 0, 0
	}
	if c.Truncated && c.Sorted && d.smallest >= 0 {
		c.AbsentMax.InuseBytes = min(c.AbsentMax.InuseBytes, d.smallest)
	}
}

// noteStacks reports how much of the heap lies on stacks that cannot be
// trusted to reach their root.
func (d *Decoder) noteStacks() {
	s, c := d.snap, d.snap.Completeness
	if c.Estimate.InuseBytes <= 0 {
		return
	}
	if p := percent(c.AtDepthLimit, c.Estimate.InuseBytes); p >= 1 {
		d.warn.add(WarnDepthLimit, d.deepLine, "%d %% of the bytes are on stacks cut at %d frames: their outermost callers are unknown",
			p, s.Format.DepthLimit())
	}
	if p := percent(c.EmptyStacks, c.Estimate.InuseBytes); p >= 10 {
		d.warn.add(WarnEmptyStack, d.emptyLine, "%d %% of the bytes have no stack at all: the unwinder failed; "+
			"set TCMALLOC_STACKTRACE_METHOD=libunwind or compile with -fno-omit-frame-pointer", p)
	}
}

func percent(part, whole int64) int64 {
	return int64(100 * float64(part) / float64(whole))
}
