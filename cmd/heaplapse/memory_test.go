package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// manyStacks writes a compressed snapshot of n rows with different stacks.
func manyStacks(t *testing.T, path string, n int) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest))
	require.NoError(t, err)
	w := bufio.NewWriter(z)
	fmt.Fprintf(w, "heap profile: %d: %d [%d: %d] @ heapprofile\n", n, 16*n, n, 16*n)
	for i := range n {
		fmt.Fprintf(w, "1: 16 [1: 16] @ 0x%x 0x55d000001100\n", 0x7f0000000000+16*i)
	}
	fmt.Fprint(w, "\nMAPPED_LIBRARIES:\n55d000000000-55d000002000 r-xp 00000000 08:01 1 /opt/x/server\n")
	require.NoError(t, w.Flush())
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
}

// TestMaxMemory: several files share the limit. The error says where reading has stopped, and how to
// go on.
func TestMaxMemory(t *testing.T) {
	testutil.NoRace(t) // the race detector needs memory of its own
	dir := t.TempDir()
	const rows = 1_000_000
	for i := range 2 {
		manyStacks(t, filepath.Join(dir, fmt.Sprintf("p.%04d.heap.zst", i+1)), rows)
	}
	out, err := exec.Command("heaplapse", "info", dir, "--max-memory", "80MiB").CombinedOutput()
	var status *exec.ExitError
	require.ErrorAs(t, err, &status)
	require.Equal(t, exitFailure, status.ExitCode(), string(out))
	message := regexp.MustCompile(`^heaplapse: ` + regexp.QuoteMeta(dir) + `/p\.000\d\.heap\.zst:(\d+): read failed: needs more than 80\.0 MiB of memory; a larger --max-memory may help, if the file is genuine\n$`).FindSubmatch(out)
	require.NotNil(t, message, string(out))
	line, err := strconv.Atoi(string(message[1]))
	require.NoError(t, err)
	require.Less(t, line, rows*9/10)
}

func TestMaxMemoryIsASize(t *testing.T) {
	for _, command := range [][]string{
		{"growth"}, {"top"}, {"info"}, {"bundle"}, {"convert", "-o", t.TempDir()}, {"gate", "--baseline", "x", "--current"}, {"baseline", "save", t.TempDir()},
	} {
		_, stderr, code := invoke(t, append(command, "nowhere", "--max-memory", "much")...)
		require.Equal(t, exitFailure, code)
		require.Contains(t, stderr, `--max-memory: "much" is not a size`, command[0])
	}
}
