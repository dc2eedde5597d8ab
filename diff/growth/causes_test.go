package growth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// TestCodeOfModulesIsNoCause: everything that a Python program does is below the code of its main
// module.
func TestCodeOfModulesIsNoCause(t *testing.T) {
	line := func(function, file string, source symbolize.Source) symbolize.Location {
		return symbolize.Location{Module: symbolize.NoModule, Source: source, Frames: []symbolize.Frame{{Function: function, File: file, Line: 1}}}
	}
	s := &symbolize.Symbols{Locations: []symbolize.Location{
		line("train", "/srv/app.py", symbolize.SourceFrames),
		line("<module>", "/srv/app.py", symbolize.SourceFrames),
		line("<module>", "/srv/app.c", symbolize.SourceDWARF),
	}}
	blamer := class.NewBlamer(s, class.DefaultRules())
	f := newFunctions(&judgement{symbols: s, blamer: blamer})
	require.NotEqual(t, []int{notCause}, f.at(0))
	require.Equal(t, []int{notCause}, f.at(1))
	require.NotEqual(t, []int{notCause}, f.at(2))
}
