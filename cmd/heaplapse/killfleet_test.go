package main

import (
	"bufio"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// exportCommand exports the four processes of a recording.
func exportCommand(t *testing.T, tables string) *exec.Cmd {
	t.Helper()
	return exec.Command("heaplapse", "fleet", "export", "-q", testutil.Data(t, "workers", "leak"), "--sysroot", testutil.Data(t, "workers"),
		"-o", tables, "--service", "shop", "--night", "2026-11-22", "--no-cache", "--label", "canary=yes", "--label", "zone=a")
}

// contents returns the content of each file below a directory that is not hidden, by its path.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(content)
		return err
	}))
	return out
}

// hidden returns the hidden files and directories below a directory.
func hidden(t *testing.T, dir string) (out []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), ".") {
			out = append(out, path)
		}
		return err
	}))
	return out
}

// killAll starts a command again and again, and kills it later and later: after 0, 1/n, 2/n, … of the time
// that it takes. check is called after each kill.
func killAll(t *testing.T, n int, command func() *exec.Cmd, check func()) {
	t.Helper()
	began := time.Now()
	require.NoError(t, command().Run())
	whole := time.Since(began)
	for i := range n {
		cmd := command()
		require.NoError(t, cmd.Start())
		time.Sleep(whole * time.Duration(i) / time.Duration(n))
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		check()
	}
}

// TestKilledExportsAreDoneAgain kills exports at different moments. Each file that is there is whole, and the
// rows of each run in the table runs are complete. The export that follows makes all files, with the bytes
// that they have without a kill.
func TestKilledExportsAreDoneAgain(t *testing.T) {
	testutil.NoRace(t)
	reference := t.TempDir()
	require.NoError(t, exportCommand(t, reference).Run())
	want := contents(t, reference)
	require.Len(t, want, 4+4+1, "four runs, their sites, and the empty table of aliases")

	tables := t.TempDir()
	partly := func() {
		got := contents(t, tables)
		for name, content := range got {
			require.Equal(t, want[name], content, name)
			if run, ok := strings.CutPrefix(name, "runs/"); ok {
				require.Contains(t, got, "sites/"+run)
			}
		}
	}
	killAll(t, 12, func() *exec.Cmd { return exportCommand(t, tables) }, func() {
		partly()
		for _, table := range []string{"runs", "sites", "aliases"} {
			require.NoError(t, os.RemoveAll(filepath.Join(tables, table)))
		}
	})

	// The first line tells that one run is written. The others are not, or are about to be.
	for range 4 {
		cmd := exportCommand(t, tables)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		require.True(t, bufio.NewScanner(out).Scan())
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		partly()
	}
	require.NoError(t, exportCommand(t, tables).Run())
	require.Equal(t, want, contents(t, tables))
	require.Empty(t, hidden(t, tables), "temporary files of killed exports")
}

// TestKilledCompactionsAreDoneAgain: whenever a compaction is killed, the next one makes the file that a
// compaction makes without a kill.
func TestKilledCompactionsAreDoneAgain(t *testing.T) {
	testutil.NoRace(t)
	exported := t.TempDir()
	require.NoError(t, exportCommand(t, exported).Run())
	begin := func(tables string) {
		require.NoError(t, os.RemoveAll(tables))
		require.NoError(t, os.CopyFS(tables, os.DirFS(exported)))
	}
	compact := func(tables string) *exec.Cmd { return exec.Command("heaplapse", "fleet", "compact", "-q", tables) }
	reference := filepath.Join(t.TempDir(), "tables")
	begin(reference)
	require.NoError(t, compact(reference).Run())
	want := contents(t, reference)
	require.Len(t, want, 3, "a file of each table")

	tables := filepath.Join(t.TempDir(), "tables")
	killAll(t, 12, func() *exec.Cmd {
		begin(tables)
		return compact(tables)
	}, func() {
		require.NoError(t, compact(tables).Run())
		require.Equal(t, want, contents(t, tables))
		require.Empty(t, hidden(t, tables))
	})
}
