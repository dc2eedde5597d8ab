package siteview

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProgramsWithoutLines: a site of the user's own code, or that it called, has a remedy if the program was built
// without line numbers. Nobody can add those of a library of the system by a build.
func TestProgramsWithoutLines(t *testing.T) {
	const note = "app has no line numbers: build it with debug information (-g), " +
		"or pass its debug file with --debug-dir"
	d, ids := withLibrary(t, "malloc ← own_keep ← own_main", "malloc ← grow ← own_count ← own_main", "malloc ← grow ← start")
	require.Equal(t, note, d.Lineless(ids[:1]))
	require.Equal(t, note, d.Lineless(ids), "it is one program")
	require.Equal(t, note, d.Lineless(ids[1:2]), "it called the library")
	require.Empty(t, d.Lineless(ids[2:]), "only the library")
	require.Empty(t, d.Lineless(nil))

	for i := range d.symbols.Locations {
		if frames := d.symbols.Locations[i].Frames; len(frames) > 0 && frames[0].Function == "own_main" {
			frames[0].Line = 7
		}
	}
	require.Empty(t, d.Lineless(ids), "only some code of the program has none, such as what the compiler made")
}

// TestUnnamedProgramsAreNotLineless: that functions have no names is told elsewhere.
func TestUnnamedProgramsAreNotLineless(t *testing.T) {
	d, ids := withLibrary(t, "malloc ← own_unnamed ← own_unnamed2")
	require.Empty(t, d.Lineless(ids))
}
