package growth

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/series"
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
	f := newFunctions(s, blamer)
	require.NotEqual(t, notCause, f.at(0)[0].number)
	require.Equal(t, notCause, f.at(1)[0].number)
	require.NotEqual(t, notCause, f.at(2)[0].number)
}

// TestFrameworksAreNoCause: a library that calls the program's own code is not named as a cause. A
// library that the program calls may be named.
func TestFrameworksAreNoCause(t *testing.T) {
	const text = "heap profile: 2: 20 [2: 20] @ heapprofile/1\n" +
		"1: 10 [1: 10] @ 0x100000000000010 0x100000000000020 0x100000000000030\n" +
		"1: 10 [1: 10] @ 0x100000000000040 0x100000000000010 0x100000000000020 0x100000000000030\n"
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p_1.0001.heap"), []byte(text), 0o600))
	frames := `{"schema":"heaplapse.frames/1","pid":1,"image":0,"start_ns":0}` + "\n"
	for address, frame := range map[string][2]string{
		"0x100000000000010": {"view", "/srv/app.py"},
		"0x100000000000020": {"dispatch", "/usr/lib/python3/dist-packages/flask/app.py"},
		"0x100000000000030": {"run", "/srv/main.py"},
		"0x100000000000040": {"parse", "/usr/lib/python3/dist-packages/yaml/reader.py"},
	} {
		frames += fmt.Sprintf(`{"address":%q,"function":%q,"file":%q,"line":1}`, address, frame[0], frame[1]) + "\n"
	}
	file := filepath.Join(dir, "frames")
	require.NoError(t, os.WriteFile(file, []byte(frames), 0o600))
	s, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	defer s.Close()
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Frames: []string{file}})
	require.NoError(t, err)
	f := newFunctions(symbols, class.NewBlamer(symbols, class.DefaultRules()))
	names := func(id symbolize.SiteID) (list []string) {
		stack := symbols.Stack(symbols.SiteStack(id))
		for _, n := range f.of(stack) {
			ref := f.find(stack, n)
			l := symbols.Locations[stack[ref.Position]]
			list = append(list, l.Frames[ref.Frame].Function)
		}
		return list
	}
	require.Equal(t, 2, symbols.Sites())
	require.Equal(t, []string{"view", "run"}, names(0))
	require.Equal(t, []string{"parse", "view", "run"}, names(1))
}
