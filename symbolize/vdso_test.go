package symbolize

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// ownVDSO returns the line of /proc/self/maps, the start and the image of the [vdso] of this process.
func ownVDSO(t *testing.T) (line string, start uint64, image []byte) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("this system has no /proc/self/maps")
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(line, "[vdso]\n") {
			continue
		}
		var end uint64
		_, err := fmt.Sscanf(line, "%x-%x", &start, &end)
		require.NoError(t, err)
		memory, err := os.Open("/proc/self/mem")
		require.NoError(t, err)
		defer memory.Close()
		image = make([]byte, end-start)
		_, err = memory.ReadAt(image, int64(start))
		require.NoError(t, err)
		return line, start, image
	}
	t.Skip("this kernel has no [vdso]")
	return "", 0, nil
}

// exportOf returns a function that the image of [vdso] exports.
func exportOf(t *testing.T, image []byte) (function elf.Symbol) {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(image))
	require.NoError(t, err)
	exported, err := file.DynamicSymbols()
	require.NoError(t, err)
	for _, s := range exported {
		if strings.HasPrefix(s.Name, "__") && s.Size > 4 && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			function = s
		}
	}
	require.NotEmpty(t, function.Name)
	return function
}

// TestVDSO checks that addresses in [vdso] are named by the kept image, and not without one: another kernel has another
// [vdso].
func TestVDSO(t *testing.T) {
	line, start, image := ownVDSO(t)
	want := exportOf(t, image)
	dir := t.TempDir()
	heap := fmt.Sprintf("heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x%x\n\nMAPPED_LIBRARIES:\n%s", start+want.Value+2, line)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.0001.heap"), []byte(heap), 0o600))
	resolve := func() *Location {
		series, err := series.Open([]string{dir}, series.Options{})
		require.NoError(t, err)
		defer series.Close()
		symbols, err := Resolve(t.Context(), series, Options{})
		require.NoError(t, err)
		return &symbols.Locations[0]
	}
	require.Equal(t, ReasonKernel, resolve().Reason)
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.VDSOFile), image, 0o600))
	l := resolve()
	require.True(t, l.Named())
	bare := func(name string) string { return strings.TrimPrefix(name, "__vdso_") } // the kernel exports both names
	require.Equal(t, bare(want.Name), bare(l.Frames[0].Function))
}
