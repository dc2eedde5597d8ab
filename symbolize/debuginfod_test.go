package symbolize

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/series"
)

const debuginfodID = "dd11223344556677"

// strippedProgram makes a program without debug information and its debug file.
func strippedProgram(t *testing.T) (path, debug string, addrs []uint64, want []Location) {
	t.Helper()
	path = relinked(t, "-Wl,--build-id=0x"+debuginfodID)
	addrs = textAddresses(t, path)[:500]
	want = locate(t, path, addrs)
	debug = filepath.Join(t.TempDir(), "debug")
	run(t, "", "objcopy", "--only-keep-debug", path, debug)
	run(t, "", "objcopy", "--strip-all", path)
	return path, debug, addrs, want
}

// server starts a debuginfod server that counts requests.
func server(t *testing.T, serve http.HandlerFunc) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		serve(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// has serves files by their paths in the protocol.
func has(files map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if file, ok := files[r.URL.Path]; ok {
			http.ServeFile(w, r, file)
			return
		}
		http.NotFound(w, r)
	}
}

// named names addresses with a debuginfod client and without debug directories.
func named(t *testing.T, path string, addrs []uint64, d *Debuginfod) []Location {
	t.Helper()
	got, err := ELF(t.Context(), path, addrs, Options{Demangle: DemangleFull, DebugDirs: []string{}, Debuginfod: d})
	require.NoError(t, err)
	return got
}

// TestDebuginfodDebugFile checks that a missing debug file is downloaded once and kept where
// elfutils looks for it.
func TestDebuginfodDebugFile(t *testing.T) {
	path, debug, addrs, want := strippedProgram(t)
	require.NotEqual(t, want, named(t, path, addrs, nil))
	first, asked := server(t, http.NotFound)
	second, requests := server(t, has(map[string]string{"/prefix/buildid/" + debuginfodID + "/debuginfo": debug}))
	d := &Debuginfod{URLs: []string{first, second + "/prefix/"}, Dir: filepath.Join(t.TempDir(), "new"), Timeout: time.Minute}
	for range 3 {
		require.Equal(t, want, named(t, path, addrs, d))
	}
	require.Equal(t, int32(1), asked.Load())
	require.Equal(t, int32(1), requests.Load())
	require.Empty(t, d.Warnings())
	entries, err := os.ReadDir(filepath.Join(d.Dir, debuginfodID))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "debuginfo", entries[0].Name())

	// Another run finds the file in the cache.
	require.Equal(t, want, named(t, path, addrs, &Debuginfod{URLs: []string{"http://127.0.0.1:1"}, Dir: d.Dir}))
}

// goneProgram returns a series of a program that no longer exists, and whose build ID is known.
// path is a copy of the program.
func goneProgram(t *testing.T, path string) *series.Series {
	t.Helper()
	series := seriesOf(t, mapsOf(t, path, "/gone/program", base), loadedAt(callsOf(t, path)[:20], base))
	series.BuildIDs = map[string]string{"/gone/program": debuginfodID}
	return series
}

// TestDebuginfodExecutable checks that a missing module is downloaded by its recorded build ID.
func TestDebuginfodExecutable(t *testing.T) {
	path := relinked(t, "-Wl,--build-id=0x"+debuginfodID)
	series := goneProgram(t, path)
	url, requests := server(t, has(map[string]string{"/buildid/" + debuginfodID + "/executable": path}))
	d := &Debuginfod{URLs: []string{url}, Dir: t.TempDir()}
	s := resolve(t, series, Options{Debuginfod: d, DebugDirs: []string{}})
	require.True(t, s.Locations[s.Stack(0)[10]].Named(), "%v", s.Modules[0].Err)
	require.Equal(t, int32(1), requests.Load())
	require.Empty(t, s.Warnings)

	// Without a recorded build ID, nothing is requested.
	series.BuildIDs = nil
	s = resolve(t, series, Options{Debuginfod: d, DebugDirs: []string{}})
	require.Equal(t, ReasonMissing, s.Modules[0].Reason)
	require.Equal(t, int32(1), requests.Load())
}

// TestCancel checks that Resolve and ELF return the context's error when their context ends while a
// server does not answer, and that this is neither a warning about the server nor a negative entry
// in the cache.
func TestCancel(t *testing.T) {
	asked := make(chan struct{}, 1)
	url, _ := server(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	path, _, addrs, _ := strippedProgram(t)
	gone := goneProgram(t, path)
	type outcome struct {
		results bool
		err     error
	}
	for name, work := range map[string]func(context.Context, Options) outcome{
		"Resolve": func(ctx context.Context, o Options) outcome {
			s, err := Resolve(ctx, gone, o)
			return outcome{s != nil, err}
		},
		"ELF": func(ctx context.Context, o Options) outcome {
			locations, err := ELF(ctx, path, addrs, o)
			return outcome{locations != nil, err}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &Debuginfod{URLs: []string{url}, Dir: t.TempDir()}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan outcome, 1)
			go func() { done <- work(ctx, Options{DebugDirs: []string{}, Debuginfod: d}) }()
			<-asked
			cancel()
			select {
			case got := <-done:
				require.ErrorIs(t, got.err, context.Canceled)
				require.False(t, got.results)
			case <-time.After(time.Minute):
				t.Fatal("still waiting for the server")
			}
			require.Empty(t, d.Warnings())
			left, err := filepath.Glob(filepath.Join(d.Dir, "*", "*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestCanceledBefore checks that no module is opened if the context has ended.
func TestCanceledBefore(t *testing.T) {
	path := standard(t).main
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := Resolve(ctx, seriesOf(t, mapsOf(t, path, path, base), loadedAt(callsOf(t, path), base)), Options{CacheDir: t.TempDir()})
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, s)
}
