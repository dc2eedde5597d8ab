package symbolize

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShower: however many ask, and in whatever order, each frame gets the name that its linkage name stands for, frames
// without one keep theirs, and hints are shown as well.
func TestShower(t *testing.T) {
	const modules, each = 7, 500
	locations := make([]Location, modules*each)
	for i := range locations {
		locations[i].Frames = []Frame{
			{Linkage: fmt.Sprintf("_ZN1s5inl%02dEi", 10+i%90), Function: "inl", File: fmt.Sprintf("/src/%d.cc", i%3), Inlined: true},
			{Linkage: fmt.Sprintf("_ZN1s3fooILi%dEE3barEv.cold", i%300), Function: "bar"},
			{Function: "plain.c.function"},
		}
		locations[i].Near = "_ZN1s4nearEv"
	}
	names := newShower(Options{})
	var wg sync.WaitGroup
	for m := range modules {
		wg.Go(func() {
			for i := m * each; i < (m+1)*each; i++ {
				names.add(locations[i].Frames)
			}
		})
	}
	wg.Wait()
	names.finish(locations)
	for i, l := range locations {
		require.Equal(t, fmt.Sprintf("s::inl%02d", 10+i%90), l.Frames[0].Function)
		require.Equal(t, fmt.Sprintf("/src/%d.cc", i%3), l.Frames[0].File)
		require.Equal(t, fmt.Sprintf("s::foo<%d>::bar", i%300), l.Frames[1].Function)
		require.Equal(t, fmt.Sprintf("_ZN1s3fooILi%dEE3barEv.cold", i%300), l.Frames[1].Linkage)
		require.Equal(t, "plain.c.function", l.Frames[2].Function)
		require.Equal(t, "s::near", l.Near)
	}
}
