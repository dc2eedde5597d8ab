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
)

// samples is the number of addresses tried of a real file: the same ones in every run.
func samples() int {
	if full() {
		return 200_000
	}
	return 2000
}

// realFiles are files of the system; deps says that scripts/deps.sh installs it.
var realFiles = []struct {
	path string
	deps bool
}{
	{"/usr/bin/node", false},
	{"/usr/bin/python3.11", true},
	{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", true},
	{"/usr/lib/x86_64-linux-gnu/libc.so.6", true},
}

// TestRealFiles compares with llvm-symbolizer on what users have.
func TestRealFiles(t *testing.T) {
	for _, f := range realFiles {
		t.Run(filepath.Base(f.path), func(t *testing.T) {
			if _, err := os.Stat(f.path); err != nil {
				if f.deps && runtime.GOARCH == "amd64" {
					absent(t, f.path+" is not installed")
				}
				t.Skip(f.path + " is not installed")
			}
			compareWithLLVM(t, f.path, sampleText(t, f.path)).check(t, f.path)
		})
	}
}

// sampleText picks addresses of a file's .text by a fixed seed, sorted.
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

// TestDebugFileByBuildID: libc's positions come from libc6-dbg's file, which is found by build ID.
func TestDebugFileByBuildID(t *testing.T) {
	const libc = "/usr/lib/x86_64-linux-gnu/libc.so.6"
	debug := filepath.Join("/usr/lib/debug/.build-id", buildIDPath(t, libc))
	if _, err := os.Stat(debug); err != nil {
		absent(t, "libc6-dbg is not installed: "+err.Error())
	}
	addrs := sampleText(t, libc)
	withFiles := func(o Options) (n int) {
		o.Demangle = DemangleFull
		locations, err := ELF(libc, addrs, o)
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

// buildIDPath is ab/cdef….debug for a file's build ID.
func buildIDPath(t *testing.T, path string) string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		absent(t, err.Error())
	}
	defer f.Close()
	section := f.Section(".note.gnu.build-id")
	require.NotNil(t, section)
	data, err := section.Data()
	require.NoError(t, err)
	id := hex.EncodeToString(data[16:])
	return id[:2] + "/" + id[2:] + ".debug"
}
