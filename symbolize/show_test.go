package symbolize

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNameTable checks that each frame gets the name for its linkage name when several goroutines
// add frames, that frames without a linkage name keep their name, and that hints are demangled.
func TestNameTable(t *testing.T) {
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
	table := newNameTable(Options{})
	var wg sync.WaitGroup
	for m := range modules {
		wg.Go(func() {
			for i := m * each; i < (m+1)*each; i++ {
				table.add(locations[i].Frames)
			}
		})
	}
	wg.Wait()
	table.finish(locations)
	for i, l := range locations {
		require.Equal(t, fmt.Sprintf("s::inl%02d", 10+i%90), l.Frames[0].Function)
		require.Equal(t, fmt.Sprintf("/src/%d.cc", i%3), l.Frames[0].File)
		require.Equal(t, fmt.Sprintf("s::foo<%d>::bar", i%300), l.Frames[1].Function)
		require.Equal(t, fmt.Sprintf("_ZN1s3fooILi%dEE3barEv.cold", i%300), l.Frames[1].Linkage)
		require.Equal(t, "plain.c.function", l.Frames[2].Function)
		require.Equal(t, "s::near", l.Near)
	}
}

// TestBothNamesAreKept checks that a frame has its display name and its linkage name.
func TestBothNamesAreKept(t *testing.T) {
	path := standard(t).main
	entry := symbolValue(t, path, "_Z10part_entryPKc")
	for mode, want := range map[Demangle]string{
		DemangleSimple: "part_entry", DemangleFull: "part_entry(char const*)", DemangleNone: "_Z10part_entryPKc",
	} {
		got, err := ELF(t.Context(), path, []uint64{entry}, Options{Demangle: mode})
		require.NoError(t, err)
		last := got[0].Frames[len(got[0].Frames)-1]
		require.Equal(t, want, last.Function)
		require.Equal(t, "_Z10part_entryPKc", last.Linkage)
	}
}
