package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestKilledConversionLeavesWholeFiles ends a conversion after its third file. Files with the name of
// a profile are complete. Temporary files are removed on a signal, and those of a killed process by
// the next one.
func TestKilledConversionLeavesWholeFiles(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	longSeries(t, in, 400)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd := exec.Command("heaplapse", "convert", in, "-q", "-o", out)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(stdout)
		for range 3 {
			require.True(t, lines.Scan())
		}
		require.NoError(t, cmd.Process.Signal(signal))
		require.Error(t, cmd.Wait())
		require.Equal(t, signal, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
		require.GreaterOrEqual(t, wholeProfiles(t, out), 3)
		if signal != syscall.SIGKILL {
			requireNoHidden(t, out)
		}
	}
}

func requireNoHidden(t *testing.T, dir string) {
	t.Helper()
	hidden, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, hidden)
}

// TestFullDiskLeavesNothing limits the size of files: writes fail as on a full disk.
func TestFullDiskLeavesNothing(t *testing.T) {
	testutil.Linux(t)
	in, out := t.TempDir(), t.TempDir()
	longSeries(t, in, 5)
	limited := exec.Command("sh", "-c", `ulimit -f 8; exec heaplapse convert "$0" -q -o "$1"`, in, out)
	message, err := limited.CombinedOutput()
	require.Error(t, err)
	require.Regexp(t, `(?m)^heaplapse: .*write `+regexp.QuoteMeta(out)+`/p\.\d{4}\.pb\.gz: file too large$`, string(message))
	require.NotContains(t, string(message), "heaplapse-tmp")
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Empty(t, left)
}

// longSeries writes one snapshot under n names.
func longSeries(t *testing.T, dir string, n int) {
	t.Helper()
	content, err := os.ReadFile(testutil.Data(t, "leaky/leaky.0024.heap.gz"))
	require.NoError(t, err)
	for i := range n {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("p.%04d.heap.gz", i+1)), content, 0o600))
	}
}

// wholeProfiles parses all files that are not hidden, and returns their number.
func wholeProfiles(t *testing.T, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		p, err := profile.Parse(f)
		require.NoError(t, err, e.Name())
		require.NoError(t, f.Close())
		require.NotEmpty(t, p.Sample)
		n++
	}
	return n
}

// TestKilledSavesLoseNoBaseline kills saves of a run later and later. The earlier baselines still
// exist, and each file with the name of a baseline is complete.
func TestKilledSavesLoseNoBaseline(t *testing.T) {
	testutil.NoRace(t)
	pool := t.TempDir()
	save := func(label string) *exec.Cmd {
		return exec.Command("heaplapse", "baseline", "save", pool, testutil.Data(t, "python"), "-q", "--no-cache", "--sysroot", testutil.Data(t, "python/sysroot"), "--label", "n="+label)
	}
	out, err := save("first").Output()
	require.NoError(t, err)
	first := strings.TrimSpace(string(out))
	began := time.Now()
	_, err = save("first").Output()
	require.NoError(t, err)
	whole := time.Since(began)
	for i := range 12 {
		cmd := save(fmt.Sprint(i))
		require.NoError(t, cmd.Start())
		time.Sleep(whole * time.Duration(i) / 10)
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		p, err := baseline.Open(pool)
		require.NoError(t, err)
		require.Empty(t, p.Problems)
		require.Contains(t, pathsOf(p), first)
	}
}

func pathsOf(p *baseline.Set) (out []string) {
	for _, e := range p.Entries {
		out = append(out, e.Path)
	}
	return out
}
