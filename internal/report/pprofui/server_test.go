package pprofui

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/convert"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

func leaky(t *testing.T) (*Server, *series.Series) {
	t.Helper()
	s, err := series.Open([]string{testutil.Data(t, "leaky")}, series.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: testutil.Data(t, "leaky/sysroot")})
	require.NoError(t, err)
	c, err := convert.New(s, symbols, convert.Options{})
	require.NoError(t, err)
	return New(s, c, Options{}), s
}

// get asks for a page below the secret path, as a browser on this machine does.
func get(t *testing.T, s *Server, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return do(s, http.MethodGet, s.Path()+target[1:], header...)
}

// do sends a request with a name of the loopback interface.
func do(s *Server, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:4711"
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestTheMenu lists each snapshot with its time, its size and its growth.
func TestTheMenu(t *testing.T) {
	s, _ := leaky(t)
	w := get(t, s, "/")
	require.Equal(t, http.StatusOK, w.Code)
	body := html.UnescapeString(w.Body.String())
	require.Contains(t, body, "#1 · 0s · 2.65 KiB in use")
	require.Contains(t, body, "#24 · 46s · 21.6 MiB in use (+21.6 MiB since #1)")
	require.Contains(t, body, `src="s/24/flamegraph"`)
}

// TestASnapshotAtTheExitIsNotShownFirst: the one before it is, as with top.
func TestASnapshotAtTheExitIsNotShownFirst(t *testing.T) {
	dir := t.TempDir()
	for i, bytes := range []int{40, 50, 52, 51, 53, 52, 51, 54, 1} {
		row := fmt.Sprintf("%d: %d [%d: %d] @", bytes, bytes<<20, 100*(i+1), (i+1)*100<<20)
		text := fmt.Sprintf("heap profile: %s heapprofile\n%s 0x55d000000100\n\nMAPPED_LIBRARIES:\n55d000000000-55d000100000 r-xp 00000000 08:01 1 /opt/x/server\n", row, row)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("p.%04d.heap", i+1)), []byte(text), 0o600))
	}
	s, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	body := get(t, New(s, nil, Options{}), "/").Body.String()
	require.Contains(t, body, `src="s/8/flamegraph"`)
	require.Contains(t, body, `<option value="8" selected>`)
	require.Contains(t, body, `<option value="9">`)
}

// TestSnapshotInPprof: pprof's pages show the requested snapshot, with names, and the download has
// its total.
func TestSnapshotInPprof(t *testing.T) {
	s, series := leaky(t)
	require.Equal(t, s.Path()+"s/24/flamegraph", get(t, s, "/s/24/").Header().Get("Location"))
	for _, page := range []string{"flamegraph", "top", "peek?f=remember"} {
		w := get(t, s, "/s/24/"+page)
		require.Equal(t, http.StatusOK, w.Code, page)
		require.Contains(t, w.Body.String(), "leaky::remember", page)
	}
	require.NotContains(t, get(t, s, "/s/1/top").Body.String(), "leaky::remember", "the first snapshot does not have it")
	for _, n := range []int{0, 11, 23} {
		p, err := profile.Parse(get(t, s, "/s/"+strconv.Itoa(n+1)+"/download").Body)
		require.NoError(t, err)
		require.Equal(t, series.Heads[n].Heap().InuseBytes, sum(p))
	}
}

// TestDifferenceInPprof is one snapshot minus another.
func TestDifferenceInPprof(t *testing.T) {
	s, series := leaky(t)
	p, err := profile.Parse(get(t, s, "/s/24-2/download").Body)
	require.NoError(t, err)
	require.Equal(t, series.Heads[23].Heap().InuseBytes-series.Heads[1].Heap().InuseBytes, sum(p))
	require.Contains(t, get(t, s, "/s/24-2/flamegraph").Body.String(), "leaky::remember")
}

// sum is of the last sample type, which is inuse_space.
func sum(p *profile.Profile) (total int64) {
	for _, s := range p.Sample {
		total += s.Value[len(s.Value)-1]
	}
	return total
}

func TestNotFound(t *testing.T) {
	s, _ := leaky(t)
	for _, target := range []string{"/s/0/top", "/s/25/top", "/s/01/top", "/s/1-/top", "/s/1-2-3/top", "/s/-1/top", "/s/1e0/top", "/s//top", "/s/", "/s/1/../2/nothing", "/s/1/nothing", "/ui/", "/debug/pprof/"} {
		require.Equal(t, http.StatusNotFound, get(t, s, target).Code, target)
	}
}

// TestOthersAreRefused covers requests for another name of the loopback address (DNS rebinding),
// and from other sites.
func TestOthersAreRefused(t *testing.T) {
	s, _ := leaky(t)
	for host, want := range map[string]int{
		"127.0.0.1:4711": 200, "127.0.0.1": 200, "localhost:1": 200, "[::1]:4711": 200, "[::1]": 200, "127.8.8.8:80": 200,
		"evil.example:4711": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example:80": 403, "10.0.0.1:4711": 403, "": 403, "0.0.0.0:4711": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, s.Path(), nil)
		r.Host = host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, host)
	}
	for _, page := range []string{"/", "/s/1/top", "/s/1/saveconfig?config=x"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead, http.MethodDelete} {
			for _, header := range [][]string{
				{"Sec-Fetch-Site", "cross-site"},
				{"Sec-Fetch-Site", "same-site"},
				{"Origin", "http://evil.example"},
				{"Origin", "http://127.0.0.1:4712"},
				{"Origin", "https://127.0.0.1:4711"},
				{"Origin", "null"},
			} {
				require.Equal(t, http.StatusForbidden, do(s, method, s.Path()+page[1:], header...).Code, "%s %s %v", method, page, header)
			}
		}
	}
	require.Equal(t, http.StatusOK, get(t, s, "/s/1/top", "Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:4711").Code)
	require.Equal(t, http.StatusOK, get(t, s, "/", "Sec-Fetch-Site", "none").Code)
}

// TestTheAddressIsSecret: other users of the machine do not know it.
func TestTheAddressIsSecret(t *testing.T) {
	s, _ := leaky(t)
	for _, path := range []string{"/", "/s/1/top", "/s/1/saveconfig", "//", "/x/", "/x" + s.Path(), "/" + strings.ToLower(s.token) + "/", s.Path()[:20], "//" + s.token + "/"} {
		w := do(s, http.MethodGet, path)
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.NotContains(t, w.Body.String(), s.token)
	}
	w := do(s, http.MethodGet, s.LaunchPath())
	require.Equal(t, http.StatusFound, w.Code)
	require.Equal(t, s.Path(), w.Header().Get("Location"))
	w = do(s, http.MethodGet, s.LaunchPath())
	require.Equal(t, http.StatusNotFound, w.Code, "the address on a command line leads there once")
	other, _ := leaky(t)
	require.NotEqual(t, s.Path(), other.Path())
}

// TestMethods: pprof's settings change only by the methods that its pages use.
func TestMethods(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s, _ := leaky(t)
	for page, method := range map[string]string{"s/1/saveconfig?config=x": http.MethodPost, "s/1/deleteconfig?config=x": http.MethodDelete} {
		for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodPut} {
			if m != method {
				require.Equal(t, http.StatusMethodNotAllowed, do(s, m, s.Path()+page).Code, "%s %s", m, page)
			}
		}
	}
	require.Equal(t, http.StatusMethodNotAllowed, do(s, http.MethodPost, s.Path()+"s/1/top").Code)
	require.Equal(t, http.StatusOK, do(s, http.MethodPost, s.Path()+"s/1/saveconfig?config=x").Code)
	require.Contains(t, get(t, s, "/s/1/top").Body.String(), "config=x")
	require.Equal(t, http.StatusOK, do(s, http.MethodDelete, s.Path()+"s/1/deleteconfig?config=x").Code)
}

// TestManyReadersAtOnce: pprof's driver has global state, the converter is not safe for concurrent
// use; the server is.
func TestManyReadersAtOnce(t *testing.T) {
	s, _ := leaky(t)
	var wg sync.WaitGroup
	for range 4 {
		for _, n := range []string{"2", "3", "24", "24-2"} {
			wg.Go(func() {
				w := get(t, s, "/s/"+n+"/top")
				if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "leaky::") {
					t.Errorf("snapshot %s: status %d", n, w.Code)
				}
			})
		}
	}
	wg.Wait()
}

// TestFewProfilesAreKept: the cache is bounded for series of any length.
func TestFewProfilesAreKept(t *testing.T) {
	s, series := leaky(t)
	for n := range series.Heads {
		require.Equal(t, http.StatusOK, get(t, s, "/s/"+strconv.Itoa(n+1)+"/top").Code)
	}
	require.Len(t, s.ready, keptProfiles)
	require.Equal(t, "24", s.ready[keptProfiles-1].name)
}
