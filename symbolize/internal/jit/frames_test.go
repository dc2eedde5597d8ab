package jit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	framesLine1 = `{"schema":"heaplapse.frames/1","pid":4711,"image":0,"start_ns":1}` + "\n"
	handleLine  = `{"address":"0x100000000000010","function":"handle","file":"/srv/app.py","line":9}` + "\n"
	mmapLine    = `{"address":"0x100000000000020","function":"[mmap]","file":"","line":0}` + "\n"
)

func readFramesText(text string) (*Map, error) {
	return Read(strings.NewReader(text), "app.4711.frames.jsonl")
}

// TestFramesFile: an address of the engine, less 1 as if it were a return address, has its function,
// file and line.
func TestFramesFile(t *testing.T) {
	m, err := readFramesText(framesLine1 + handleLine + mmapLine)
	require.NoError(t, err)
	require.NoError(t, m.Skipped)
	require.Equal(t, Frames, m.Kind)
	handle := Symbol{Function: "handle", File: "/srv/app.py", Line: 9, Language: "python"}
	for address, want := range map[uint64]Symbol{
		0x100000000000010 - 1: handle, 0x100000000000000: handle, 0x100000000000020 - 1: {Function: "[mmap]"},
	} {
		f, ok := m.Find(address)
		require.True(t, ok)
		require.Equal(t, want, f)
	}
	for _, address := range []uint64{0x100000000000020, 0xfffffffffffff, 0x7f0000000000} {
		_, ok := m.Find(address)
		require.False(t, ok, "%#x", address)
	}
}

// TestNamesOfScriptsAreNotSplit: a function of a script may look like the name of another compiler.
func TestNamesOfScriptsAreNotSplit(t *testing.T) {
	m, err := readFramesText(framesLine1 + strings.Replace(handleLine, "handle", "JS:*f /srv/a.js:1:2", 1))
	require.NoError(t, err)
	f, _ := m.Find(0x10000000000000f)
	require.Equal(t, Symbol{Function: "JS:*f /srv/a.js:1:2", File: "/srv/app.py", Line: 9, Language: "python"}, f)
}

// TestUnfinishedFramesFile: the last line may still be written.
func TestUnfinishedFramesFile(t *testing.T) {
	for _, rest := range []string{"", `{"addr`, strings.TrimSuffix(mmapLine, "\n")} {
		m, err := readFramesText(framesLine1 + handleLine + rest)
		require.NoError(t, err)
		require.NoError(t, m.Skipped)
		require.Len(t, m.entries, 1)
	}
	m, err := readFramesText(strings.TrimSuffix(framesLine1, "\n"))
	require.NoError(t, err)
	require.Empty(t, m.entries)
}

// TestMalformedFrames: the lines before and after a malformed one are used, and the error names the
// file and the line.
func TestMalformedFrames(t *testing.T) {
	for line, want := range map[string]string{
		`{"address":"0x1`: "unexpected end of JSON input",
		``:                "unexpected end of JSON input",
		`[]`:              "cannot unmarshal array",
		`{"address":"0x100000000000030","function":"f","line":-1}`:                         "cannot unmarshal number -1",
		`{"address":"0x100000000000030","function":"f","line":4294967296}`:                 "cannot unmarshal number 4294967296",
		`{"address":"here","function":"f"}`:                                                `the address "here" is not a number`,
		`{"address":"0x55e799a1d080","function":"main"}`:                                   "the engine does not use the address 0x55e799a1d080",
		`{"address":"0x100000000000031","function":"f"}`:                                   "the engine does not use the address 0x100000000000031",
		`{"address":"0x200000000000000","function":"f"}`:                                   "the engine does not use the address 0x200000000000000",
		`{"address":"0x100000000000000","function":"f"}`:                                   "the engine does not use the address 0x100000000000000",
		`{"address":"0x100000000000030","file":"/srv/app.py"}`:                             "the address 0x100000000000030 has no function",
		`{"address":"0x100000000000030","function":"` + strings.Repeat("a", 70<<10) + `"}`: "the line has more than 65536 bytes",
	} {
		m, err := readFramesText(framesLine1 + handleLine + line + "\n" + "{}\n" + mmapLine)
		require.NoError(t, err)
		require.ErrorContains(t, m.Skipped, "app.4711.frames.jsonl:3: ")
		require.ErrorContains(t, m.Skipped, want)
		require.Len(t, m.entries, 2)
	}
}

func TestFramesOfAnotherVersion(t *testing.T) {
	for line, want := range map[string]string{
		`{"schema":"heaplapse.frames/2"}`: `app.4711.frames.jsonl:1: schema "heaplapse.frames/2", want "heaplapse.frames/1": written by another version of heaplapse`,
		`{"schema":3}`:                    "app.4711.frames.jsonl:1: json: cannot unmarshal number",
		`{"schema" nonsense`:              "app.4711.frames.jsonl:1: invalid character 'n'",
	} {
		m, err := readFramesText(line + "\n" + handleLine)
		require.Nil(t, m)
		require.ErrorContains(t, err, want)
	}
}

// TestFramesShareFiles: the memory of a file's name is counted once.
func TestFramesShareFiles(t *testing.T) {
	var b strings.Builder
	b.WriteString(framesLine1)
	for i := range 1000 {
		fmt.Fprintf(&b, `{"address":"%#x","function":"f%d","file":"/srv/app.py","line":%d}`+"\n", syntheticBase+16*(i+1), i%10, i)
	}
	m, err := readFramesText(b.String())
	require.NoError(t, err)
	require.Len(t, m.entries, 1000)
	require.Equal(t, 1000*len("f0")+len("/srv/app.py"), m.text)
}

// FuzzFrames: reading returns an error and no map, or a map that only names addresses of the engine.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(strings.TrimPrefix(framesLine1, framesHead) + handleLine + mmapLine))
	f.Add([]byte(strings.TrimPrefix(framesLine1, framesHead) + handleLine[:30]))
	f.Add([]byte(`:"heaplapse.frames/2"}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Read(strings.NewReader(framesHead+string(data)), "f")
		if err != nil {
			require.Nil(t, m)
			require.Regexp(t, `^f:1: `, err.Error())
			return
		}
		require.Equal(t, Frames, m.Kind)
		for i := range m.entries {
			e := &m.entries[i]
			require.NotEmpty(t, e.name)
			found, ok := m.Find(e.start)
			require.True(t, ok)
			require.GreaterOrEqual(t, found.Line, 0)
			require.GreaterOrEqual(t, e.start, uint64(syntheticBase))
			require.Less(t, e.start, uint64(syntheticEnd))
		}
	})
}
