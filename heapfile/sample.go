package heapfile

import "math"

// Addr is an address in the memory of the recorded process. Every address of a stack is a return
// address, also that of the leaf: the call is just before it.
type Addr uint64

// Counts are the four numbers of a row: objects and bytes in use, and objects and bytes allocated
// since the process started. The last two are meaningful only if [Head.HasAlloc] is set.
type Counts struct {
	InuseObjects, InuseBytes, AllocObjects, AllocBytes int64
}

// Add returns c + d.
func (c Counts) Add(d Counts) Counts {
	return Counts{
		c.InuseObjects + d.InuseObjects, c.InuseBytes + d.InuseBytes,
		c.AllocObjects + d.AllocObjects, c.AllocBytes + d.AllocBytes,
	}
}

// addSaturated returns c + d without overflow: estimates of damaged rows may be huge.
func (c Counts) addSaturated(d Counts) Counts {
	return Counts{
		addSaturated(c.InuseObjects, d.InuseObjects), addSaturated(c.InuseBytes, d.InuseBytes),
		addSaturated(c.AllocObjects, d.AllocObjects), addSaturated(c.AllocBytes, d.AllocBytes),
	}
}

func addSaturated(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}

// Sub returns c - d.
func (c Counts) Sub(d Counts) Counts {
	return Counts{
		c.InuseObjects - d.InuseObjects, c.InuseBytes - d.InuseBytes,
		c.AllocObjects - d.AllocObjects, c.AllocBytes - d.AllocBytes,
	}
}

// Sample is one row of a file, raw. Several rows may have the same stack.
type Sample struct {
	Stack StackID
	// Truncated is set if the file was truncated in the middle of this row: the root side of the
	// stack is missing.
	Truncated bool
	Counts
}

// Estimate returns what the row means for the heap. If every allocation is recorded (period ≤ 1),
// that is the raw counts; otherwise it is the counts divided by the probability that an object of
// their mean size s is sampled at all,
//
//	scale = 1 / (1 − exp(−s/period))
//
// truncated toward zero, as google/pprof's scaleHeapSample and jemalloc's jeprof do.
// It must be applied row by row, before anything is summed.
//
// Counters of gperftools 2.10 and older are 32 bits wide: a negative count is read modulo 2^32 if
// only that explains the number of bytes.
func (s Sample) Estimate(period int64) Counts {
	c := s.Counts
	c.InuseObjects = unwrap(c.InuseObjects, c.InuseBytes)
	c.AllocObjects = unwrap(c.AllocObjects, c.AllocBytes)
	if period <= 1 {
		return c
	}
	c.InuseObjects, c.InuseBytes = unsample(c.InuseObjects, c.InuseBytes, period)
	c.AllocObjects, c.AllocBytes = unsample(c.AllocObjects, c.AllocBytes, period)
	return c
}

// unwrap undoes a 32-bit overflow: -1 object in 5 GB was 4,294,967,295 objects.
func unwrap(objects, bytes int64) int64 {
	const wrap = 1 << 32
	if objects < 0 && objects >= math.MinInt32 && bytes >= objects+wrap {
		return objects + wrap
	}
	return objects
}

func unsample(objects, bytes, period int64) (int64, int64) {
	if objects == 0 || bytes == 0 {
		return 0, 0
	}
	mean := float64(bytes) / float64(objects)
	scale := 1 / (1 - math.Exp(-mean/float64(period)))
	return truncate(float64(objects) * scale), truncate(float64(bytes) * scale)
}

// truncate converts toward zero and saturates, because Go leaves the conversion
// of a float outside int64's range to the machine.
func truncate(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	case f != f:
		return 0
	}
	return int64(f)
}
