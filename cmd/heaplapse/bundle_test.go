package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// leakyBundle returns the path of a bundle of a recorded series.
func leakyBundle(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "leaky.heaplapse.tar.zst")
	_, stderr, code := invoke(t, "bundle", "-q", testutil.Data(t, "leaky"), "--sysroot", testutil.Data(t, "leaky/sysroot"), "-o", path)
	require.Equal(t, exitOK, code, stderr)
	return path
}

// TestSignalRemovesWhatWasUnpacked ends a command that waits for a reader of its output.
func TestSignalRemovesWhatWasUnpacked(t *testing.T) {
	path, tmp := leakyBundle(t), t.TempDir()
	pipe := filepath.Join(t.TempDir(), "out.pb.gz")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cmd := exec.Command("heaplapse", "convert", "-q", path, "--merge", "-o", pipe)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	require.NoError(t, cmd.Start())
	entries := func() int {
		list, err := os.ReadDir(tmp)
		require.NoError(t, err)
		return len(list)
	}
	require.Eventually(t, func() bool { return entries() > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGTERM, status.Signal())
	require.Zero(t, entries())
}

// TestInterruptedBundleLeavesNothing: the previous file stays, and no temporary file.
func TestInterruptedBundleLeavesNothing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	out := filepath.Join(dir, "x.heaplapse.tar.zst")
	require.NoError(t, os.WriteFile(out, []byte("before"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	args := []string{"bundle", "--sysroot", testutil.Data(t, "leaky/sysroot"), testutil.Data(t, "leaky"), "-o", out}
	require.Equal(t, exitFailure, run(ctx, args, streams{out: io.Discard, err: &stderr}))
	require.Equal(t, "heaplapse: "+out+": interrupted: nothing was written\n", stderr.String())
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 1)
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "before", string(text))
}

// TestRecordBundle: a bundle of a recording gives the same names after the directory is removed.
func TestRecordBundle(t *testing.T) {
	testutil.Need(t, "python3")
	testutil.NeedFile(t, "/usr/lib/*/libtcmalloc.so.4")
	dir := filepath.Join(t.TempDir(), "rec")
	program := "k = [bytearray(200_000) for i in range(60)]"
	cmd := exec.Command("heaplapse", "record", "--bundle", "-o", dir, "--engine", "tcmalloc", "--every", "0", "--every-alloc", "2MiB", "--", "python3", "-c", program)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "bundle written: "+dir+".heaplapse.tar.zst")
	want, _, code := invoke(t, "top", dir)
	require.Equal(t, exitOK, code)
	require.Contains(t, want, "PyByteArray_Resize")
	require.NoError(t, os.RemoveAll(dir))
	got, stderr, code := invoke(t, "top", dir+".heaplapse.tar.zst")
	require.Equal(t, exitOK, code, stderr)
	require.Equal(t, want, got)
}
