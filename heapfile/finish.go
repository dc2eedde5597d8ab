package heapfile

import (
	"cmp"
	"math"
)

// fullSize is the size of the buffer in which gperftools 2.15 and older prints a snapshot
// (src/heap-profiler.cc kProfileBufferSize); lastRow is the most that one more row would have
// needed: 35 bytes and 32 addresses.
const (
	fullSize = 1 << 20
	lastRow  = 35 + 32*19
)

// finish derives what depends on the whole file.
func (d *Decoder) finish() {
	s, c := d.snap, &d.snap.Completeness
	s.HasAlloc = hasAlloc(s)
	c.Sorted = c.Sorted && s.Format == FormatHeapProfile && s.Rows > 1
	d.noteTruncated()
	d.compareHeader()
	d.noteImpossible()
	switch {
	case len(s.Mappings) > 0 || c.Unfinished || s.Format.Profile():
	case d.goText:
		d.warn.add(WarnNoMappings, d.lines.number, "no mappings: addresses cannot be named; "+
			"a Go program writes names if the profile is requested without debug=1: open that with `go tool pprof`")
	default:
		d.warn.add(WarnNoMappings, d.lines.number, "no mappings: addresses cannot be named")
	}
	d.noteStacks()
	s.Warnings = d.warn.list
}

// hasAlloc reports whether the cumulative counts are real. gperftools' sampled snapshots repeat the
// in-use counts in the brackets, and jemalloc writes zeros there unless prof_accum is on.
// gperftools' heap profiler and heaplapse's engine always count; jemalloc 3 writes the header of
// the former with zeros if it does not count.
func hasAlloc(s *Snapshot) bool {
	switch s.Format {
	case FormatPprof, FormatGoroutines:
		return s.HasAlloc // the sample types say so
	case FormatScaled:
		return true
	case FormatHeapProfile:
		return s.Total.AllocBytes != 0 || s.Total.InuseBytes == 0
	case FormatGrowth, FormatGrowthz, FormatFragmentationz:
		return false
	case FormatJemalloc:
		return s.Total.AllocObjects != 0 || s.Total.AllocBytes != 0
	}
	t := s.Total
	return (t.AllocObjects != t.InuseObjects && t.AllocObjects != 0) ||
		(t.AllocBytes != t.InuseBytes && t.AllocBytes != 0)
}

// missing returns what the header counts and the rows do not.
func missing(s *Snapshot) Counts {
	if !s.HasTotal {
		return Counts{}
	}
	return s.Total.Sub(s.Completeness.Rows)
}

// compareHeader warns of a header that disagrees with its rows. It skips jemalloc, which counts
// while other threads allocate, and truncated files, which have a warning of their own.
func (d *Decoder) compareHeader() {
	s := d.snap
	m := missing(s)
	if m == (Counts{}) || s.Format == FormatJemalloc || s.Completeness.Truncated || s.Format.Profile() {
		return
	}
	if m.InuseObjects == 0 && m.InuseBytes == 0 && !s.HasAlloc {
		return
	}
	d.warn.add(
		WarnHeaderMismatch,
		d.headerLine,
		"header minus rows: %d objects, %d bytes in use; %d objects, %d bytes allocated",
		m.InuseObjects,
		m.InuseBytes,
		m.AllocObjects,
		m.AllocBytes,
	)
}

// noteImpossible warns of totals with fewer bytes allocated than in use. jemalloc's raw counts may
// be so; the estimates are not.
func (d *Decoder) noteImpossible() {
	s := d.snap
	total := s.Total
	if s.Format.Profile() {
		total = s.Completeness.Rows
	} else if !s.HasTotal || s.Format == FormatJemalloc {
		return
	}
	if s.HasAlloc && total.AllocBytes < total.InuseBytes {
		d.warn.add(WarnImpossible, d.headerLine, "%d bytes are in use, but only %d were ever allocated: the file is damaged",
			total.InuseBytes, total.AllocBytes)
	}
}

// fillsBuffer reports whether no further row would have fit into gperftools' buffer.
func (d *Decoder) fillsBuffer() bool {
	return d.lines.size <= fullSize && d.lines.size >= fullSize-lastRow
}

// noteTruncated recognizes a snapshot that fills gperftools' buffer and derives the bound for
// absent stacks: at most what the header counts beyond the rows and, if rows are sorted, at most
// the in-use bytes of the smallest row.
func (d *Decoder) noteTruncated() {
	s, c := d.snap, &d.snap.Completeness
	m := missing(s)
	if s.Format == FormatHeapProfile && d.fillsBuffer() && (m.AllocBytes > 0 || m.InuseBytes > 0) {
		c.Truncated = true
	}
	if c.Truncated && !c.Unfinished {
		d.warn.add(
			WarnTruncated,
			cmp.Or(d.rowLine, d.headerLine),
			"truncated at 1 MiB by the allocator (gperftools before 2.16): the smallest sites are missing, with %d bytes in use and %d bytes allocated",
			m.InuseBytes,
			m.AllocBytes,
		)
	}
	if s.Format.Profile() {
		m = m.Add(d.profile.hidden)
		c.Truncated = m != Counts{}
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

// noteStacks warns if much of the heap is on stacks whose outermost frames may be missing.
func (d *Decoder) noteStacks() {
	s, c := d.snap, d.snap.Completeness
	if c.Estimate.InuseBytes <= 0 {
		return
	}
	if p := percent(c.AtDepthLimit, c.Estimate.InuseBytes); p >= 1 {
		d.warn.add(
			WarnDepthLimit,
			d.deepLine,
			"%d %% of the bytes are on stacks truncated at %d frames: their outermost callers are unknown",
			p,
			s.DepthLimit,
		)
	}
	p := percent(c.EmptyStacks, c.Estimate.InuseBytes)
	if p < 10 || s.Format == FormatGoroutines { // goroutines that have not begun have none
		return
	}
	remedy := ": the unwinder failed; with tcmalloc, set TCMALLOC_STACKTRACE_METHOD=libunwind or compile with -fno-omit-frame-pointer"
	if s.Format.Profile() {
		remedy = ""
	}
	d.warn.add(WarnEmptyStack, d.emptyLine, "%d %% of the bytes have no stack at all%s", p, remedy)
}

func percent(part, whole int64) int64 {
	return int64(100 * float64(part) / float64(whole))
}
