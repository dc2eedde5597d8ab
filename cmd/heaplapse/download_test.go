package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestInterruptedDownload checks that ^C ends a command that waits for a debuginfod server, and
// that no part of a file is left in the cache.
func TestInterruptedDownload(t *testing.T) {
	testutil.Linux(t)
	arrived := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("\x7fELF"))
		w.(http.Flusher).Flush()
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	cache := t.TempDir()
	cmd := exec.Command("heaplapse", "symbolize", "--no-cache", "-e", testutil.Data(t, "python/sysroot/usr/bin/python3.11"), "--debuginfod", server.URL)
	cmd.Stdin = strings.NewReader("0x1000\n")
	cmd.Env = append(os.Environ(), "DEBUGINFOD_CACHE_PATH="+cache)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-arrived:
	case err := <-ended:
		t.Fatal("it ended without a download: ", err, stderr.String())
	case <-time.After(time.Minute):
		require.NoError(t, cmd.Process.Kill())
		t.Fatal("nothing was requested")
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	select {
	case <-ended:
	case <-time.After(time.Minute):
		require.NoError(t, cmd.Process.Kill())
		t.Fatal("the command still waits for the server")
	}
	require.Equal(t, syscall.SIGINT, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.Empty(t, stdout.String())
	require.Empty(t, stderr.String())
	left, err := filepath.Glob(filepath.Join(cache, "*", ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
	left, err = filepath.Glob(filepath.Join(cache, "*", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
