package symbolize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// addMiniDebugInfo strips a file and adds .gnu_debugdata as gdb's manual describes ("MiniDebugInfo"): the functions
// that .dynsym lacks, in a file of their own, compressed by xz. Weak functions are kept, too.
func addMiniDebugInfo(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	keep, mini := filepath.Join(dir, "keep"), filepath.Join(dir, "mini")
	exported := map[string]bool{}
	for line := range strings.Lines(run(t, "", "nm", "-D", "--format=posix", "--defined-only", path)) {
		exported[strings.Fields(line)[0]] = true
	}
	var functions strings.Builder
	for line := range strings.Lines(run(t, "", "nm", "--format=posix", "--defined-only", path)) {
		if f := strings.Fields(line); strings.Contains("TtWw", f[1]) && !exported[f[0]] {
			functions.WriteString(f[0] + "\n")
		}
	}
	require.NotZero(t, functions.Len())
	require.NoError(t, os.WriteFile(keep, []byte(functions.String()), 0o600))
	run(t, "", "objcopy", "--only-keep-debug", path, mini+".debug")
	run(t, "", "objcopy", "-S", "--remove-section", ".comment", "--keep-symbols="+keep, mini+".debug", mini)
	run(t, "", "xz", mini)
	run(t, "", "objcopy", "--strip-all", path)
	run(t, "", "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", path)
}

// TestMiniDebugInfo checks that a stripped library with .gnu_debugdata has the names of one with symbols but without
// debug information: static functions from .gnu_debugdata, exported ones from .dynsym.
func TestMiniDebugInfo(t *testing.T) {
	symbols, mini := copied(t, standard(t).library), copied(t, standard(t).library)
	run(t, "", "objcopy", "--strip-debug", symbols)
	addMiniDebugInfo(t, mini)
	addrs := textAddresses(t, mini)
	want := locate(t, symbols, addrs)
	sources := map[Source]int{}
	for i, l := range locate(t, mini, addrs) {
		sources[l.Source]++
		require.Equal(t, want[i].Named(), l.Named(), "0x%x", addrs[i])
		if l.Named() {
			require.Equal(t, want[i].Frames[0].Function, l.Frames[0].Function, "0x%x", addrs[i])
		}
	}
	require.Greater(t, sources[SourceSymbols], 100)
	require.Greater(t, sources[SourceExports], 100)
}

// TestMiniDebugInfoGivesWay checks that the symbols of a debug file take precedence over .gnu_debugdata.
func TestMiniDebugInfoGivesWay(t *testing.T) {
	path := copied(t, standard(t).library)
	addrs := textAddresses(t, path)
	want := locate(t, path, addrs)
	debug := path + ".debug"
	run(t, "", "objcopy", "--only-keep-debug", path, debug)
	addMiniDebugInfo(t, path)
	run(t, "", "objcopy", "--add-gnu-debuglink="+debug, path)
	requireSame(t, want, locate(t, path, addrs))
}
