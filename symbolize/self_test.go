package symbolize

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// told is what the runtime of a Go program reports for one of its addresses.
type told struct {
	kind string
	addr uint64
	printed
}

// tellSelf builds and runs testdata/self. It converts the addresses to those in the file.
func tellSelf(t *testing.T) (path string, out []told) {
	t.Helper()
	dir, err := filepath.Abs("testdata/self")
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "self")
	run(t, dir, "go", "build", "-o", path, "main.go")
	for line := range strings.Lines(run(t, "", path)) {
		var e told
		_, err := fmt.Sscan(line, &e.kind, (*hexadecimal)(&e.addr), &e.name, &e.file, &e.line)
		require.NoError(t, err, "%q", line)
		out = append(out, e)
	}
	require.Equal(t, "origin", out[0].kind)
	bias := out[0].addr - symbolValue(t, path, "runtime.GC")
	for i := range out {
		out[i].addr -= bias
	}
	return path, out[1:]
}

// hexadecimal reads a number without 0x.
type hexadecimal uint64

func (h *hexadecimal) Scan(s fmt.ScanState, _ rune) error {
	_, err := fmt.Fscanf(s, "%x", (*uint64)(h))
	return err
}

// TestSelf checks that the debug information of a Go program agrees with Go's runtime.
func TestSelf(t *testing.T) {
	path, all := tellSelf(t)
	entries := 0
	for _, e := range all {
		if e.kind != "entry" {
			continue
		}
		entries++
		got := locate(t, path, []uint64{e.addr})[0]
		require.True(t, got.Named(), "%s", e)
		require.Equal(t, e.printed, outermost(&got))
	}
	require.Equal(t, 8, entries)
}

func outermost(l *Location) printed {
	list := printLocation(l)
	return list[len(list)-1]
}

// TestSelfReturnAddresses checks that return addresses have the frames, inlined ones included, that the runtime's
// unwinder reports.
func TestSelfReturnAddresses(t *testing.T) {
	path, all := tellSelf(t)
	all = all[8:]
	inlined := 0
	for i := 0; i < len(all); {
		require.Equal(t, "frame", all[i].kind)
		l := locate(t, path, []uint64{all[i].addr - 1})[0]
		// The runtime gives a return address of its own to each inlined call.
		for _, got := range printLocation(&l) {
			got.name = strings.TrimSuffix(got.name, ".abi0") // the linker's suffix for assembler code
			require.Equal(t, all[i].printed, got)
			i++
		}
		inlined += len(l.Frames) - 1
	}
	require.Equal(t, 3, inlined, "outer, middle and inner are inlined into main")
}

// TestWorkersChangeNothing checks that the answers do not depend on the number of workers.
func TestWorkersChangeNothing(t *testing.T) {
	path, _ := tellSelf(t)
	addrs := sampleText(t, path)
	alone, err := ELF(t.Context(), path, addrs, Options{Workers: 1})
	require.NoError(t, err)
	together, err := ELF(t.Context(), path, addrs, Options{Workers: 8})
	require.NoError(t, err)
	require.Equal(t, alone, together)
	named := slices.DeleteFunc(alone, func(l Location) bool { return !l.Named() })
	require.Greater(t, len(named), len(addrs)*9/10)
}
