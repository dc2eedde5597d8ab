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

// TestUnpackedBundleHasNoName: nothing is left of a bundle that is read, even if the process is
// killed. It waits for a reader of its output when the bundle is unpacked.
func TestUnpackedBundleHasNoName(t *testing.T) {
	testutil.Linux(t)
	path, tmp := leakyBundle(t), t.TempDir()
	pipe := filepath.Join(t.TempDir(), "out.pb.gz")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cmd := exec.Command("heaplapse", "convert", "-q", path, "--merge", "-o", pipe)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	opened := make(chan *os.File, 1)
	go func() {
		f, _ := os.Open(pipe)
		opened <- f
	}()
	select {
	case f := <-opened:
		defer f.Close()
	case err := <-ended:
		t.Fatal("nothing was written: ", err, stderr.String())
	}
	requireEmpty(t, tmp)
	_ = cmd.Process.Kill() // it may have ended
	<-ended
	requireEmpty(t, tmp)
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, list)
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
