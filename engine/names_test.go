//go:build linux

package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// frameName is a line of a frames file: the first one, or a name.
type frameName struct {
	Schema     string
	PID, Image int
	StartNS    int64 `json:"start_ns"`

	Address  string
	Function string
	File     string
	Line     int
	Language string
}

// frameNames reads a frames file. The key is the address.
func frameNames(t *testing.T, path string) (first frameName, names map[uint64]frameName) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	names = map[uint64]frameName{}
	for line := range strings.Lines(string(text)) {
		var f frameName
		require.True(t, strings.HasSuffix(line, "}\n"), line)
		require.NoError(t, json.Unmarshal([]byte(line), &f), line)
		if f.Address == "" {
			require.Empty(t, first.Schema, "one first line")
			first = f
			continue
		}
		address, err := strconv.ParseUint(f.Address, 0, 64)
		require.NoError(t, err)
		require.Zero(t, names[address], "a second name") // NotContains compares with every key
		names[address] = f
	}
	return first, names
}

// Threads that name the same frames get the same addresses, and the files have each name once. A
// forked child writes all of them again.
func TestNames(t *testing.T) {
	program := linkSources(t, "names", "testdata/names.c", "src/output/frames.c", "src/base/names.c", "src/base/platform.c", "src/base/text.c", "-pthread")
	dir := t.TempDir()
	parent, child := filepath.Join(dir, "parent"), filepath.Join(dir, "child")
	runProgram(t, nil, program, parent, child)

	const image = 1 << 40
	first, names := frameNames(t, parent)
	childFirst, childNames := frameNames(t, child)
	require.Equal(t, frameName{Schema: "heaplapse.frames/1", PID: 12, StartNS: 34}, first)
	require.Equal(t, frameName{Schema: "heaplapse.frames/1", PID: 13, Image: 2, StartNS: 35}, childFirst)
	got := map[string]bool{}
	for address, f := range names {
		require.Zero(t, address%16)
		require.Equal(t, uint64(1), address>>56)
		require.Equal(t, f.File != "", f.Language == "python", f.Function)
		same := childNames[address+2*image]
		same.Address = f.Address
		require.Equal(t, f, same)
		got[fmt.Sprint(f.Function, f.File, f.Line)] = true
	}
	for i := range 2000 {
		name := fmt.Sprintf("f%d/srv/%d.py%d", i/3, i%7, i)
		require.True(t, got[name], name)
	}
	require.True(t, got["a\"b\\c\n\ufffd€0"])
}
