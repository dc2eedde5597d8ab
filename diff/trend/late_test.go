package trend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/trend/births"
	"github.com/heaplapse/heaplapse/diff/verdict"
)

// TestALeakThatOtherMemoryHid: until the half, what is freed hides the leak in the curve. Births tell that it was there.
func TestALeakThatOtherMemoryHid(t *testing.T) {
	const n = 40
	judge := func(list []births.Birth) Verdict {
		var p Points
		for i := range n {
			p.T = append(p.T, float64(i))
			p.Live = append(p.Live, float64(5+max(0, i-n/2))*mib)
			p.Objects, p.Alloc = append(p.Objects, 100*float64(5+max(0, i-n/2))), append(p.Alloc, float64(20+i)*mib)
		}
		if list != nil {
			p.Births = func() *births.Births { return &births.Births{List: list} }
		}
		return Judge(p, Options{LeakConfidence: 0.5})
	}
	var hidden, late []births.Birth
	for i := range n {
		leaked := births.Birth{Before: float64(i), Objects: 100, Bytes: mib}
		hidden, late = append(hidden, leaked), append(late, leaked)
		if i > 0 && i <= n/2 {
			late[i] = births.Birth{Before: float64(i)}
		}
	}
	late[0] = births.Birth{Objects: 500, Bytes: 5 * mib} // is kept
	require.Equal(t, verdict.Leak, judge(hidden).Label)
	require.Equal(t, verdict.LeakLate, judge(late).Label)
	require.Equal(t, verdict.LeakLate, judge(nil).Label, "nothing tells when it was allocated")
	require.InDelta(t, mib, judge(hidden).Slope, mib/20, "the rate is that of the part that shows it")
}
