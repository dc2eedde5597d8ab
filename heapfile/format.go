package heapfile

import (
	"bytes"
	"strconv"
)

// Format is the dialect of a snapshot. The first line, or the sample types of a profile, decide it.
type Format uint8

// The dialects. The comment shows the part of the first line that identifies the dialect, if it has
// lines.
const (
	FormatUnknown        Format = iota
	FormatHeapProfile           // @ heapprofile: gperftools' heap profiler, every allocation recorded
	FormatHeapV2                // @ heap_v2/N: gperftools' sampled live heap
	FormatHeap                  // @ heap, @ heap/N: N is twice the sampling period
	FormatHeapzV2               // @ heapz_v2/N: Google's own, sampled
	FormatGrowth                // @ growth: stacks that made the heap grow
	FormatGrowthz               // @ growthz
	FormatFragmentationz        // @ fragmentationz
	FormatJemalloc              // heap_v2/N alone
	FormatScaled                // @ heapprofile/N: heaplapse's own engine, samples that are scaled already
	FormatPprof                 // pprof's profile.proto, which is scaled already
	FormatGoroutines            // a goroutine profile of Go in profile.proto: objects are goroutines
)

var formatNames = [...]string{
	FormatUnknown:        "unknown",
	FormatHeapProfile:    "heapprofile",
	FormatHeapV2:         "heap_v2",
	FormatHeap:           "heap",
	FormatHeapzV2:        "heapz_v2",
	FormatGrowth:         "growth",
	FormatGrowthz:        "growthz",
	FormatFragmentationz: "fragmentationz",
	FormatJemalloc:       "jemalloc heap_v2",
	FormatScaled:         "scaled heapprofile",
	FormatPprof:          "pprof",
	FormatGoroutines:     "pprof goroutines",
}

// String returns the name used in output, such as "heapprofile".
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return "unknown"
}

// Profile reports whether the format is that of pprof.
func (f Format) Profile() bool { return f == FormatPprof || f == FormatGoroutines }

// Allocator returns the name of what writes this format: "tcmalloc", "jemalloc" or "heaplapse"; ""
// if the format does not tell (see Head.Producer).
func (f Format) Allocator() string {
	switch f {
	case FormatPprof, FormatGoroutines:
		return ""
	case FormatJemalloc:
		return "jemalloc"
	case FormatScaled:
		return "heaplapse"
	}
	return "tcmalloc"
}

// Sampled reports whether rows are samples that [Sample.Estimate] must scale.
func (f Format) Sampled() bool {
	switch f {
	case FormatHeapV2, FormatHeap, FormatHeapzV2, FormatJemalloc:
		return true
	}
	return false
}

// DepthLimit returns the largest number of frames that the writer keeps of a stack; it drops the
// outermost ones (gperftools kMaxStackDepth and its users, jemalloc PROF_BT_MAX). It returns 0 for
// the built-in engine, which leaves out inner frames of a deep stack and marks the place, and for
// pprof profiles, whose producers differ (see Head.DepthLimit).
func (f Format) DepthLimit() int {
	switch f {
	case FormatScaled, FormatPprof, FormatGoroutines:
		return 0
	case FormatJemalloc:
		return 128
	case FormatHeapProfile:
		return 32
	case FormatGrowth, FormatGrowthz:
		return 30
	}
	return 31
}

// header is the first line of a snapshot, decoded.
type header struct {
	format   Format
	period   int64
	total    Counts
	hasTotal bool
}

const gperftoolsMagic = "heap profile:"

// parseHeader decodes `heap profile: 144: 8498176 [ 144: 8498176] @ heap_v2/524288`.
func parseHeader(line []byte) (header, bool) {
	rest, found := bytes.CutPrefix(line, []byte(gperftoolsMagic))
	if !found {
		return header{}, false
	}
	total, rest, ok := parseCounts(rest)
	if !ok {
		return header{}, false
	}
	kind := bytes.TrimSpace(rest)
	format, n, ok := parseKind(kind)
	if !ok {
		return header{}, false
	}
	return header{format: format, period: samplingPeriod(format, n), total: total, hasTotal: true}, true
}

// parseKind decodes what follows the header's @: `heapprofile`, `heap/1048576`.
func parseKind(kind []byte) (Format, int64, bool) {
	name, number, slash := bytes.Cut(kind, []byte("/"))
	var n int64
	if slash && len(number) > 0 {
		v, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil || v < 0 {
			return 0, 0, false
		}
		n = v
	}
	for f := FormatHeapProfile; f < FormatJemalloc; f++ {
		switch {
		case string(name) != formatNames[f]:
		case f == FormatHeapProfile && n > 0: // other readers ignore the number, and need not scale
			return FormatScaled, n, true
		default:
			return f, n, true
		}
	}
	return 0, 0, false
}

func samplingPeriod(f Format, n int64) int64 {
	switch f {
	case FormatHeapV2, FormatHeapzV2, FormatScaled:
		return n
	case FormatHeap:
		return n / 2
	}
	return 1
}
