package growth

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

// onAllProcessors calls a function on each processor with the numbers from 0 to n−1. Each number is
// given to one of the calls.
func onAllProcessors(n int, do func(numbers iter.Seq[int])) {
	var next atomic.Int64
	numbers := func(yield func(int) bool) {
		for i := int(next.Add(1)) - 1; i < n && yield(i); i = int(next.Add(1)) - 1 {
		}
	}
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() { do(numbers) })
	}
	all.Wait()
}
