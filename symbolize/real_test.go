package symbolize

import (
	"debug/elf"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// samples returns the number of addresses per file, which are the same in every run.
func samples() int {
	if testutil.Full() {
		return 200_000
	}
	return 2000
}

// realFiles are files of the system. deps is true if scripts/deps.sh installs the file.
var realFiles = []struct {
	path string
	deps bool
}{
	{"/usr/bin/node", false},
	{"/usr/bin/python3.11", true},
	{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", true},
	{"/usr/lib/x86_64-linux-gnu/libc.so.6", true},
}

// TestRealFiles compares answers for the files of a Debian system with those of llvm-symbolizer.
func TestRealFiles(t *testing.T) {
	for _, f := range realFiles {
		t.Run(filepath.Base(f.path), func(t *testing.T) {
			if _, err := os.Stat(f.path); err != nil {
				if f.deps && runtime.GOARCH == "amd64" {
					testutil.Missing(t, f.path)
				}
				t.Skip(f.path + " is not installed")
			}
			compareWithLLVM(t, f.path, sampleText(t, f.path)).check(t, f.path)
		})
	}
}

// sampleText returns pseudo-random addresses in a file's .text, sorted.
func sampleText(t *testing.T, path string) []uint64 {
	t.Helper()
	all := textAddresses(t, path)
	random := rand.New(rand.NewPCG(4, uint64(len(all))))
	picked := map[uint64]bool{}
	for len(picked) < min(samples(), len(all)) {
		picked[all[random.IntN(len(all))]] = true
	}
	out := make([]uint64, 0, len(picked))
	for a := range picked {
		out = append(out, a)
	}
	slices.Sort(out)
	return out
}

// TestDebugFileByBuildID checks that the positions in libc come from the file of libc6-dbg, found by build ID.
func TestDebugFileByBuildID(t *testing.T) {
	const libc = "/usr/lib/x86_64-linux-gnu/libc.so.6"
	debug := filepath.Join("/usr/lib/debug/.build-id", buildIDPath(t, libc))
	if _, err := os.Stat(debug); err != nil {
		testutil.Missing(t, "libc6-dbg ("+err.Error()+")")
	}
	addrs := sampleText(t, libc)
	withFiles := func(o Options) (n int) {
		o.Demangle = DemangleFull
		locations, err := ELF(t.Context(), libc, addrs, o)
		require.NoError(t, err)
		for _, l := range locations {
			if l.Named() && l.Frames[0].Line > 0 {
				n++
			}
		}
		return n
	}
	require.Greater(t, withFiles(Options{}), len(addrs)*9/10)
	require.Zero(t, withFiles(Options{DebugDirs: []string{t.TempDir()}}), "the debug directory given is the only one")
}

// buildIDPath returns ab/cdef….debug for the build ID of a file.
func buildIDPath(t *testing.T, path string) string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		testutil.Missing(t, err.Error())
	}
	defer f.Close()
	section := f.Section(".note.gnu.build-id")
	require.NotNil(t, section)
	data, err := section.Data()
	require.NoError(t, err)
	id := hex.EncodeToString(data[16:])
	return id[:2] + "/" + id[2:] + ".debug"
}
