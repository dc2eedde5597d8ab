//go:build linux

package engine

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// biasTruth is what a run of bias.c with the given total allocates at the site of a size.
func biasTruth(size, total int64) heapfile.Counts {
	n := (total + size - 1) / size
	kept := (n + 1) / 2
	return heapfile.Counts{InuseObjects: kept, InuseBytes: kept * size, AllocObjects: n, AllocBytes: n * size}
}

var biasSizes = []int64{16, 400, 4096, 60000, 4 << 20}

// relativeError is the standard deviation of the estimate of n objects, relative to n. An object is
// sampled with probability p and then counts 1/p, so the variance of the sum is n(1-p)/p.
func relativeError(n, size, period int64) float64 {
	p := -math.Expm1(-float64(size) / float64(period))
	return math.Sqrt((1 - p) / p / float64(n))
}

// TestEstimatesAreRight compares the estimates of one run with the truth. An unbiased estimate is
// off by more than five standard deviations in one of two million runs. Of objects that are nearly all
// sampled, one is missed more often than that, and two hardly ever.
func TestEstimatesAreRight(t *testing.T) {
	const period, total = 4096, 48 << 20
	program := compile(t, "gcc", "bias.c", "-fno-builtin")
	r := record(t, fmt.Sprintf("period=%d", period), program, strconv.Itoa(total)).run(t)
	got := functionsOf(t, program).bySite(r.last(t))
	for _, size := range biasSizes {
		want, site := biasTruth(size, total), got[strconv.FormatInt(size, 10)]
		for _, c := range []struct {
			what      string
			got, want int64
		}{
			{"objects in use", site.InuseObjects, want.InuseObjects}, {"bytes in use", site.InuseBytes, want.InuseBytes},
			{"objects", site.AllocObjects, want.AllocObjects}, {"bytes", site.AllocBytes, want.AllocBytes},
		} {
			n := want.AllocObjects
			if c.want == want.InuseObjects || c.want == want.InuseBytes {
				n = want.InuseObjects
			}
			tolerance := 5*relativeError(n, size, period) + 2/float64(n)
			assert.InEpsilon(t, c.want, c.got, tolerance, "%s of size %d", c.what, size)
		}
	}
}

// TestMeanOf60Runs compares the mean of the estimates of 60 runs with the truth, with the default
// period.
func TestMeanOf60Runs(t *testing.T) {
	if !testutil.Full() {
		t.Skip("long; make test-full runs it")
	}
	const runs, total = 60, 256 << 20
	program := compile(t, "gcc", "bias.c", "-fno-builtin")
	names := functionsOf(t, program)
	sums := map[string]heapfile.Counts{}
	for range runs {
		r := record(t, "period=131072", program, strconv.Itoa(total)).run(t)
		for name, counts := range names.bySite(r.last(t)) {
			sums[name] = sums[name].Add(counts)
		}
		_ = os.RemoveAll(filepath.Dir(r.prefix))
	}
	for _, size := range biasSizes {
		want, got := biasTruth(size, total), sums[strconv.FormatInt(size, 10)]
		for what, ratio := range map[string]float64{
			"objects in use": float64(got.InuseObjects) / float64(want.InuseObjects),
			"bytes in use":   float64(got.InuseBytes) / float64(want.InuseBytes),
			"objects":        float64(got.AllocObjects) / float64(want.AllocObjects),
			"bytes":          float64(got.AllocBytes) / float64(want.AllocBytes),
		} {
			t.Logf("size %d, %s: mean/truth %.4f", size, what, ratio/runs)
			assert.InDelta(t, 1, ratio/runs, 0.03, "size %d, %s", size, what)
		}
	}
}
