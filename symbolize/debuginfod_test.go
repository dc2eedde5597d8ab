package symbolize

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const debuginfodID = "dd11223344556677"

// strippedProgram is a program without debug information, and its debug file.
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

// server is a debuginfod server that counts requests.
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

// has serves files by the path that the protocol gives them.
func has(files map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if file, ok := files[r.URL.Path]; ok {
			http.ServeFile(w, r, file)
			return
		}
		http.NotFound(w, r)
	}
}

func named(t *testing.T, path string, addrs []uint64, d *Debuginfod) []Location {
	t.Helper()
	got, err := ELF(path, addrs, Options{Demangle: DemangleFull, DebugDirs: []string{}, Debuginfod: d})
	require.NoError(t, err)
	return got
}

// TestDebuginfodDebugFile: a debug file that is not here is fetched once, and kept where elfutils looks for it.
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

	// Another run finds it there without a server.
	require.Equal(t, want, named(t, path, addrs, &Debuginfod{URLs: []string{"http://127.0.0.1:1"}, Dir: d.Dir}))
}

// TestDebuginfodExecutable: a module that is gone is fetched by the build ID that was recorded.
func TestDebuginfodExecutable(t *testing.T) {
	path := relinked(t, "-Wl,--build-id=0x"+debuginfodID)
	calls := callsOf(t, path)[:20]
	series := seriesOf(t, mapsOf(t, path, "/gone/program", base), loadedAt(calls, base))
	series.BuildIDs = map[string]string{"/gone/program": debuginfodID}
	url, requests := server(t, has(map[string]string{"/buildid/" + debuginfodID + "/executable": path}))
	d := &Debuginfod{URLs: []string{url}, Dir: t.TempDir()}
	s := resolve(t, series, Options{Debuginfod: d, DebugDirs: []string{}})
	require.True(t, s.Locations[s.Stack(0)[10]].Named(), "%v", s.Modules[0].Err)
	require.Equal(t, int32(1), requests.Load())
	require.Empty(t, s.Warnings)

	// Without a recorded build ID nobody knows what to ask for.
	series.BuildIDs = nil
	s = resolve(t, series, Options{Debuginfod: d, DebugDirs: []string{}})
	require.Equal(t, ReasonMissing, s.Modules[0].Reason)
	require.Equal(t, int32(1), requests.Load())
}

// TestDebuginfodMiss: what no server has is not asked for again until the empty file in the cache is too old.
func TestDebuginfodMiss(t *testing.T) {
	path, debug, addrs, want := strippedProgram(t)
	files := map[string]string{}
	url, requests := server(t, has(files))
	dir := t.TempDir()
	ask := func() []Location { return named(t, path, addrs, &Debuginfod{URLs: []string{url}, Dir: dir}) }
	bare := ask()
	require.NotEqual(t, want, bare)
	note := filepath.Join(dir, debuginfodID, "debuginfo")
	info, err := os.Stat(note)
	require.NoError(t, err)
	require.Zero(t, info.Size())

	files["/buildid/"+debuginfodID+"/debuginfo"] = debug
	require.Equal(t, bare, ask())
	require.Equal(t, int32(1), requests.Load())
	old := time.Now().Add(-11 * time.Minute)
	require.NoError(t, os.Chtimes(note, old, old))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cache_miss_s"), []byte("3600\n"), 0o600))
	require.Equal(t, bare, ask(), "the file says an hour")
	require.NoError(t, os.Remove(filepath.Join(dir, "cache_miss_s")))
	require.Equal(t, want, ask(), "the default is ten minutes")
	require.Equal(t, int32(2), requests.Load())
}

// TestDebuginfodFailures: whatever a server does, the answers are those without it, nothing is left in the cache,
// it is a warning, and the next server is asked.
func TestDebuginfodFailures(t *testing.T) {
	path, debug, addrs, want := strippedProgram(t)
	other := relinked(t, "-Wl,--build-id=0xeeeeeeee")
	data, err := os.ReadFile(debug)
	require.NoError(t, err)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, c := range map[string]struct {
		serve   http.HandlerFunc
		warning string
	}{
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}, "delivers nothing"},
		"hangs within the file": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(data[:1000])
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}, "delivers nothing"},
		"drips": {func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i < len(data) && r.Context().Err() == nil; i += 10 {
				_, _ = w.Write(data[i:min(i+10, len(data))])
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, "too slowly"},
		"another build": {func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, other) }, `has the build ID "eeeeeeee"`},
		"truncated": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data[:len(data)/2])
		}, "unexpected EOF"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9000000000000")
			w.WriteHeader(http.StatusOK)
		}, "more than the .* allowed"},
		"too large, unannounced": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		}, "more than the .* bytes allowed"},
		"no ELF file": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>log in</html>") }, "not a readable ELF file"},
		"server error": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
		}, "503"},
		"redirects for ever": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, "redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, _ := server(t, c.serve)
			dir := t.TempDir()
			d := &Debuginfod{URLs: []string{bad}, Dir: dir, Timeout: 300 * time.Millisecond, MaxSize: 5 << 20}
			begin := time.Now()
			require.Equal(t, named(t, path, addrs, nil), named(t, path, addrs, d))
			require.Less(t, time.Since(begin), 20*time.Second)
			require.Len(t, d.Warnings(), 1)
			require.Regexp(t, c.warning, d.Warnings()[0].Error())
			require.ErrorContains(t, d.Warnings()[0], bad)
			left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
			require.NoError(t, err)
			require.Empty(t, left, "a failure is no proof that there is no such file")

			good, _ := server(t, has(map[string]string{"/buildid/" + debuginfodID + "/debuginfo": debug}))
			d.URLs, d.failed = append(d.URLs, good), nil
			require.Equal(t, want, named(t, path, addrs, d))
			require.Len(t, d.Warnings(), 1)
		})
	}
}

// TestDebuginfodGivesUp: a server that cannot be reached is asked once, whatever else is missing.
func TestDebuginfodGivesUp(t *testing.T) {
	url, requests := server(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	d := &Debuginfod{URLs: []string{url, "http://127.0.0.1:1"}, Dir: t.TempDir(), Timeout: 200 * time.Millisecond}
	for i := range 5 {
		require.Nil(t, d.find(fmt.Sprintf("abcdef%02d", i), "debuginfo"))
	}
	require.Equal(t, int32(1), requests.Load())
	require.Len(t, d.Warnings(), 2)
}

// TestDebuginfodIDs: what is no build ID never becomes part of a path or a URL.
func TestDebuginfodIDs(t *testing.T) {
	url, requests := server(t, http.NotFound)
	d := &Debuginfod{URLs: []string{url}, Dir: t.TempDir()}
	for _, id := range []string{"", "ab", "../../etc", "ABCDEF", "abcd/..", strings.Repeat("a", 200)} {
		require.Nil(t, d.find(id, "debuginfo"))
	}
	require.Zero(t, requests.Load())
}

func TestDebuginfodEnvironment(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	of := func(words ...string) *Debuginfod {
		d, err := NewDebuginfod(words, func(name string) string { return env[name] })
		require.NoError(t, err)
		return d
	}
	require.Nil(t, of(), "off unless asked for")
	require.Nil(t, of("env"), "nothing in DEBUGINFOD_URLS")
	d := of("http://a.example/", "https://b.example http://c.example")
	require.Equal(t, []string{"http://a.example/", "https://b.example", "http://c.example"}, d.URLs)
	require.Equal(t, filepath.Join(home, ".cache", "debuginfod_client"), d.Dir)
	require.Equal(t, 90*time.Second, d.Timeout)
	env["XDG_CACHE_HOME"] = "/xdg"
	env["DEBUGINFOD_URLS"] = "http://d.example  http://e.example"
	env["DEBUGINFOD_TIMEOUT"], env["DEBUGINFOD_MAXTIME"], env["DEBUGINFOD_MAXSIZE"] = "7", "60", "1000"
	d = of("env")
	require.Equal(t, []string{"http://d.example", "http://e.example"}, d.URLs)
	require.Equal(t, "/xdg/debuginfod_client", d.Dir)
	require.Equal(t, []any{7 * time.Second, time.Minute, int64(1000)}, []any{d.Timeout, d.MaxTime, d.MaxSize})
	require.NoError(t, os.Mkdir(filepath.Join(home, ".debuginfod_client_cache"), 0o700))
	require.Equal(t, filepath.Join(home, ".debuginfod_client_cache"), of("env").Dir, "the old place, if it is there")
	env["DEBUGINFOD_CACHE_PATH"] = "/cache"
	require.Equal(t, "/cache", of("env").Dir)

	for _, word := range []string{"ftp://a.example", "a.example", "http://", "/local"} {
		_, err := NewDebuginfod([]string{word}, func(string) string { return "" })
		require.ErrorContains(t, err, "is not the URL of a server")
	}
	env["DEBUGINFOD_TIMEOUT"] = "soon"
	_, err := NewDebuginfod([]string{"env"}, func(name string) string { return env[name] })
	require.ErrorContains(t, err, "DEBUGINFOD_TIMEOUT=soon")
}
