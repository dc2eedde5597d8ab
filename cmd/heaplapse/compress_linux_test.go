package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/compress"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestCompressedSeriesHaveTheSameVerdict: growth and info say the same about a series after record has
// compressed its snapshots, also while both forms of some are there.
func TestCompressedSeriesHaveTheSameVerdict(t *testing.T) {
	testutil.NoRace(t)
	for _, name := range []string{
		"leaky", "leaky-jemalloc", "lines", "node", "python", "workers/leak",
		"dialects/exit", "dialects/fork", "dialects/highwater", "dialects/mmap", "dialects/processes", "dialects/restart",
		"real/exit_leak", "real/many_paths", "real/redis_grow", "services/rust-heap",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			plain := unpackSeries(t, testutil.Data(t, name), filepath.Join(dir, "plain"))
			packed := unpackSeries(t, testutil.Data(t, name), filepath.Join(dir, "packed"))
			for i, path := range packed {
				_, err := compress.File(t.Context(), path)
				require.NoError(t, err)
				if i%5 != 3 { // as if record had been killed before it removed the file
					require.NoError(t, os.Remove(path))
				}
			}
			require.NotEmpty(t, plain)
			for _, args := range [][]string{
				{"growth", "--all", "--format", "json", "--no-cache"}, {"info", "--format", "json", "--no-cache"},
			} {
				answer := func(dir string) string {
					stdout, stderr, code := invoke(t, append(args, dir)...)
					require.NotEqual(t, exitFailure, code, stderr)
					return strings.ReplaceAll(strings.ReplaceAll(stdout, dir, "DIR"), compress.Suffix, "")
				}
				require.Equal(t, answer(filepath.Join(dir, "plain")), answer(filepath.Join(dir, "packed")))
			}
		})
	}
}

// unpackSeries copies a directory. It decompresses the snapshots, and returns their paths.
func unpackSeries(t *testing.T, from, to string) (snapshots []string) {
	t.Helper()
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	paths, err := filepath.Glob(filepath.Join(to, "*.heap.gz"))
	require.NoError(t, err)
	for i, path := range paths {
		f, err := os.Open(path)
		require.NoError(t, err)
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		content, err := io.ReadAll(z)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		plain := strings.TrimSuffix(path, ".gz")
		require.NoError(t, os.WriteFile(plain, content, 0o600))
		at := z.ModTime // the times of the files are the clock of a series without a manifest
		if at.IsZero() {
			at = time.Unix(int64(1_750_000_000+i), 0)
		}
		require.NoError(t, os.Chtimes(plain, at, at))
		require.NoError(t, os.Remove(path))
		snapshots = append(snapshots, plain)
	}
	return snapshots
}
