package debuginfod

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
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

const (
	wantedID = "dd11223344556677"
	otherID  = "eeeeeeee"

	noteBuildID = 3 // NT_GNU_BUILD_ID
)

// elfFile returns an ELF file with a build ID and some content.
func elfFile(t testing.TB, buildID string, content int) []byte {
	t.Helper()
	id, err := hex.DecodeString(buildID)
	require.NoError(t, err)
	var note, file bytes.Buffer
	for _, v := range []any{uint32(4), uint32(len(id)), uint32(noteBuildID), []byte("GNU\x00"), id} {
		require.NoError(t, binary.Write(&note, binary.LittleEndian, v))
	}
	const headerSize, progSize = 64, 56
	header := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: headerSize,
		Ehsize: headerSize, Phentsize: progSize, Phnum: 1, Shentsize: 64,
	}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	prog := elf.Prog64{Type: uint32(elf.PT_NOTE), Off: headerSize + progSize, Filesz: uint64(note.Len()), Memsz: uint64(note.Len()), Align: 4}
	for _, v := range []any{header, prog, note.Bytes(), make([]byte, content)} {
		require.NoError(t, binary.Write(&file, binary.LittleEndian, v))
	}
	return file.Bytes()
}

// server starts a server that counts requests.
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
func has(files map[string][]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}
}

// finds reports whether a client finds the debug file.
func finds(t *testing.T, c *Client) bool {
	t.Helper()
	file := c.Find(t.Context(), wantedID, Debuginfo)
	if file == nil {
		return false
	}
	defer file.Close()
	require.Equal(t, wantedID, file.BuildID)
	require.Equal(t, filepath.Join(c.Dir, wantedID, Debuginfo), file.Path)
	return true
}

// TestMiss checks that a file that no server has is not requested again before the negative entry
// expires.
func TestMiss(t *testing.T) {
	files := map[string][]byte{}
	url, requests := server(t, has(files))
	dir := t.TempDir()
	found := func() bool { return finds(t, &Client{URLs: []string{url}, Dir: dir}) }
	require.False(t, found())
	note := filepath.Join(dir, wantedID, Debuginfo)
	info, err := os.Stat(note)
	require.NoError(t, err)
	require.Zero(t, info.Size())

	files["/buildid/"+wantedID+"/debuginfo"] = elfFile(t, wantedID, 0)
	require.False(t, found())
	require.Equal(t, int32(1), requests.Load())
	old := time.Now().Add(-11 * time.Minute)
	require.NoError(t, os.Chtimes(note, old, old))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cache_miss_s"), []byte("3600\n"), 0o600))
	require.False(t, found(), "the file says an hour")
	require.NoError(t, os.Remove(filepath.Join(dir, "cache_miss_s")))
	require.True(t, found(), "the default is ten minutes")
	require.Equal(t, int32(2), requests.Load())
}

// TestFailures checks that a faulty server is a warning, leaves nothing in the cache, and that the
// next server is asked.
func TestFailures(t *testing.T) {
	data, other := elfFile(t, wantedID, 200_000), elfFile(t, otherID, 0)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, bad := range map[string]struct {
		serve   http.HandlerFunc
		warning string
	}{
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}, "sends nothing"},
		"hangs within the file": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(data[:1000])
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}, "sends nothing"},
		"drips": {func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i < len(data) && r.Context().Err() == nil; i += 10 {
				_, _ = w.Write(data[i:min(i+10, len(data))])
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, "too slowly"},
		"another build": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(other) }, `returned build ID "eeeeeeee"`},
		"truncated": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data[:len(data)/2])
		}, "unexpected EOF"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9000000000000")
			w.WriteHeader(http.StatusOK)
		}, "more than the limit of"},
		"too large, unannounced": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		}, "more bytes than the limit of"},
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
			url, _ := server(t, bad.serve)
			dir := t.TempDir()
			c := &Client{URLs: []string{url}, Dir: dir, Timeout: 300 * time.Millisecond, MaxSize: 5 << 20}
			require.False(t, finds(t, c))
			require.Len(t, c.Warnings(), 1)
			require.Regexp(t, bad.warning, c.Warnings()[0].Error())
			require.ErrorContains(t, c.Warnings()[0], url)
			left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
			require.NoError(t, err)
			require.Empty(t, left, "a failure does not show that there is no such file")

			good, _ := server(t, has(map[string][]byte{"/buildid/" + wantedID + "/debuginfo": data}))
			c.URLs, c.failed = append(c.URLs, good), nil
			require.True(t, finds(t, c))
			require.Len(t, c.Warnings(), 1)
		})
	}
}

// TestPasswords: a server may need a user name, a password and a query; no message has them.
func TestPasswords(t *testing.T) {
	data := elfFile(t, wantedID, 0)
	var user, password, query string
	for _, status := range []int{http.StatusOK, http.StatusUnauthorized} {
		address, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
			user, password, _ = r.BasicAuth()
			query = r.URL.RawQuery
			w.WriteHeader(status)
			_, _ = w.Write(data)
		})
		_, host, _ := strings.Cut(address, "//")
		c := &Client{URLs: []string{"http://anna:geheim%2F@" + host + "/?tok=secret", "http://token@127.0.0.1:1/?tok=secret"}, Dir: t.TempDir()}
		require.Equal(t, status == http.StatusOK, finds(t, c))
		require.Equal(t, []string{"anna", "geheim/", "tok=secret"}, []string{user, password, query})
		messages := fmt.Sprint(c.Warnings())
		require.NotRegexp(t, "anna|geheim|token|tok|secret", messages)
		if status != http.StatusOK {
			require.Contains(t, messages, "debuginfod: "+address+"/: 401 Unauthorized for "+address+"/buildid/")
			require.Contains(t, messages, "debuginfod: http://127.0.0.1:1/: ")
		}
	}
	for _, wrong := range []string{"anna:geheim@host", "ftp://anna:geheim@host/", "http://anna:ge%heim@host", "//anna:geheim@host", "host?anna=geheim"} {
		_, err := New([]string{wrong}, os.Getenv)
		require.ErrorContains(t, err, "host")
		require.NotRegexp(t, "anna|geheim", err.Error())
	}
}

// TestCancel checks that the end of the context ends a download and says nothing about the server
// or the file.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stalled, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(elfFile(t, wantedID, 1000))
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	other, requests := server(t, http.NotFound)
	c := &Client{URLs: []string{stalled, other}, Dir: t.TempDir()}
	require.Nil(t, c.Find(ctx, wantedID, Debuginfo))
	require.Empty(t, c.Warnings())
	require.Zero(t, requests.Load(), "the next server is not asked")
	left, err := filepath.Glob(filepath.Join(c.Dir, "*", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
	good, _ := server(t, has(map[string][]byte{"/buildid/" + wantedID + "/debuginfo": elfFile(t, wantedID, 0)}))
	c.URLs = []string{good}
	require.True(t, finds(t, c), "the file is requested again")
}

// TestMaxTime checks the limit for a whole download.
func TestMaxTime(t *testing.T) {
	url, _ := server(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := &Client{URLs: []string{url}, Dir: t.TempDir(), MaxTime: 50 * time.Millisecond}
	require.False(t, finds(t, c))
	require.Len(t, c.Warnings(), 1)
	require.ErrorIs(t, c.Warnings()[0], errTooLong)
}

// TestDown checks that a server that does not answer is asked only once.
func TestDown(t *testing.T) {
	url, requests := server(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := &Client{URLs: []string{url, "http://127.0.0.1:1"}, Dir: t.TempDir(), Timeout: 200 * time.Millisecond}
	for i := range 5 {
		require.Nil(t, c.Find(t.Context(), fmt.Sprintf("abcdef%02d", i), Debuginfo))
	}
	require.Equal(t, int32(1), requests.Load())
	require.Len(t, c.Warnings(), 2)
}

// TestBuildIDs checks that only build IDs become part of a path or a URL.
func TestBuildIDs(t *testing.T) {
	url, requests := server(t, http.NotFound)
	c := &Client{URLs: []string{url}, Dir: t.TempDir()}
	for _, id := range []string{"", "ab", "../../etc", "ABCDEF", "abcd/..", strings.Repeat("a", 200)} {
		require.Nil(t, c.Find(t.Context(), id, Debuginfo))
	}
	require.Zero(t, requests.Load())
}

func TestNew(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	of := func(words ...string) *Client {
		c, err := New(words, func(name string) string { return env[name] })
		require.NoError(t, err)
		return c
	}
	require.Nil(t, of(), "no server is used by default")
	require.Nil(t, of("env"), "DEBUGINFOD_URLS is empty")
	c := of("http://a.example/", "https://b.example http://c.example")
	require.Equal(t, []string{"http://a.example/", "https://b.example", "http://c.example"}, c.URLs)
	require.Equal(t, filepath.Join(home, ".cache", "debuginfod_client"), c.Dir)
	require.Equal(t, 90*time.Second, c.Timeout)
	env["XDG_CACHE_HOME"] = "/xdg"
	env["DEBUGINFOD_URLS"] = "http://d.example  http://e.example"
	env["DEBUGINFOD_TIMEOUT"], env["DEBUGINFOD_MAXTIME"], env["DEBUGINFOD_MAXSIZE"] = "7", "60", "1000"
	c = of("env")
	require.Equal(t, []string{"http://d.example", "http://e.example"}, c.URLs)
	require.Equal(t, "/xdg/debuginfod_client", c.Dir)
	require.Equal(t, []any{7 * time.Second, time.Minute, int64(1000)}, []any{c.Timeout, c.MaxTime, c.MaxSize})
	require.NoError(t, os.Mkdir(filepath.Join(home, ".debuginfod_client_cache"), 0o700))
	require.Equal(t, filepath.Join(home, ".debuginfod_client_cache"), of("env").Dir, "the old directory, if it exists")
	env["DEBUGINFOD_CACHE_PATH"] = "/cache"
	require.Equal(t, "/cache", of("env").Dir)

	for _, word := range []string{"ftp://a.example", "a.example", "http://", "/local"} {
		_, err := New([]string{word}, func(string) string { return "" })
		require.ErrorContains(t, err, "is not the URL of a server")
	}
	env["DEBUGINFOD_TIMEOUT"] = "soon"
	_, err := New([]string{"env"}, func(name string) string { return env[name] })
	require.ErrorContains(t, err, "DEBUGINFOD_TIMEOUT=soon")
}

// transport answers each request with the same bytes.
type transport []byte

func (raw transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), req)
}

// FuzzResponse: whatever a server answers, a file in the cache has the requested build ID or is a
// negative entry, no temporary file stays, and a failure is a warning about the server.
func FuzzResponse(f *testing.F) {
	good := string(elfFile(f, wantedID, 8))
	for _, raw := range []string{
		fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(good), good),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\x7fELF\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 404 Not Found\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n",
		"HTTP/1.1 500 \x1b[31m\r\n\r\n", "HTTP/9.9 x\r\n\r\n", "",
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := &Client{
			URLs: []string{"http://server.example"}, Dir: t.TempDir(),
			HTTP: &http.Client{Transport: transport(raw)}, MaxSize: 1 << 20,
		}
		found := finds(t, c)
		require.LessOrEqual(t, len(c.Warnings()), 1)
		entries, err := filepath.Glob(filepath.Join(c.Dir, wantedID, "*"))
		require.NoError(t, err)
		hidden, err := filepath.Glob(filepath.Join(c.Dir, wantedID, ".*"))
		require.NoError(t, err)
		require.Empty(t, hidden)
		switch {
		case found:
			require.Empty(t, c.Warnings())
			require.Len(t, entries, 1)
		case len(entries) == 1: // no server has it
			info, err := os.Stat(entries[0])
			require.NoError(t, err)
			require.Zero(t, info.Size())
			require.Empty(t, c.Warnings())
		default:
			require.Empty(t, entries)
			require.Len(t, c.Warnings(), 1)
			require.ErrorContains(t, c.Warnings()[0], "http://server.example")
		}
	})
}
