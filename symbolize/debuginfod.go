package symbolize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// Debuginfod fetches programs and debug files by build ID from debuginfod servers, and keeps them where elfutils'
// client keeps them, so that gdb, perf and others have them too (debuginfod-client(7), debuginfod_find_debuginfo(3)):
//
//	CACHE/BUILDID/debuginfo, CACHE/BUILDID/executable   an empty one: no server has it
//	CACHE/cache_miss_s                                  for how many seconds an empty file is believed
//
// Files are never removed; elfutils' client does. What arrives must have the build ID that was asked for. Failures
// are warnings, one a server. It is safe for concurrent use.
type Debuginfod struct {
	// URLs are the servers, asked in this order.
	URLs []string
	// Dir is the cache.
	Dir string
	// Client makes the requests; nil takes http.DefaultClient, which heeds HTTPS_PROXY.
	Client *http.Client
	// Timeout gives up a server that does not deliver 100 KiB in this time; 0 waits for ever.
	Timeout time.Duration
	// MaxTime bounds a whole download; 0 does not.
	MaxTime time.Duration
	// MaxSize bounds a file, in bytes; 0 takes 8 GiB.
	MaxSize int64

	mu       sync.Mutex
	failed   map[string]bool // what was asked for in vain
	down     map[string]bool // servers that are asked no more
	warnings map[string]error
}

// Defaults of debuginfod-client(7), and what a server must deliver within the time-out.
const (
	debuginfodTimeout = 90 * time.Second
	debuginfodMiss    = 600 * time.Second
	debuginfodChunk   = 100 << 10
	debuginfodMaxSize = 8 << 30
)

// NewDebuginfod prepares a client as the environment says: DEBUGINFOD_CACHE_PATH, DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME,
// DEBUGINFOD_MAXSIZE. Each of the words is a URL, several with blanks between them, or "env", which takes DEBUGINFOD_URLS. Without any
// server the result is nil: nothing is fetched.
func NewDebuginfod(words []string, getenv func(string) string) (*Debuginfod, error) {
	d := &Debuginfod{Dir: debuginfodDir(getenv), Timeout: debuginfodTimeout}
	for _, word := range strings.Fields(strings.Join(words, " ")) {
		if word == "env" {
			d.URLs = append(d.URLs, strings.Fields(getenv("DEBUGINFOD_URLS"))...)
			continue
		}
		d.URLs = append(d.URLs, word)
	}
	for _, text := range d.URLs {
		if u, err := url.Parse(text); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("%q is not the URL of a server: want http://… or https://…", text)
		}
	}
	if len(d.URLs) == 0 {
		return nil, nil
	}
	if d.Dir == "" {
		return nil, errors.New("there is no directory for what is fetched: set DEBUGINFOD_CACHE_PATH")
	}
	for _, setting := range []struct {
		name string
		set  func(int64)
	}{
		{"DEBUGINFOD_TIMEOUT", func(n int64) { d.Timeout = time.Duration(n) * time.Second }},
		{"DEBUGINFOD_MAXTIME", func(n int64) { d.MaxTime = time.Duration(n) * time.Second }},
		{"DEBUGINFOD_MAXSIZE", func(n int64) { d.MaxSize = n }},
	} {
		text := getenv(setting.name)
		n, err := strconv.ParseInt(text, 10, 64)
		if text != "" && (err != nil || n < 0 || n > 1<<33) {
			return nil, fmt.Errorf("%s=%s: want a number", setting.name, text)
		}
		if text != "" {
			setting.set(n)
		}
	}
	return d, nil
}

// debuginfodDir is elfutils' choice of a cache directory.
func debuginfodDir(getenv func(string) string) string {
	if dir := getenv("DEBUGINFOD_CACHE_PATH"); dir != "" {
		return dir
	}
	home := getenv("HOME")
	if old := filepath.Join(home, ".debuginfod_client_cache"); home != "" {
		if _, err := os.Stat(old); err == nil {
			return old
		}
	}
	if dir := getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "debuginfod_client")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".cache", "debuginfod_client")
}

// Warnings are what went wrong, one a server, in the order of the servers.
func (d *Debuginfod) Warnings() (out []error) {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, server := range d.URLs {
		if err := d.warnings[server]; err != nil && slices.Index(d.URLs, server) == i {
			out = append(out, err)
		}
	}
	return out
}

// find opens the file of a build ID; kind is "debuginfo" or "executable". nil if it cannot be had.
func (d *Debuginfod) find(buildID, kind string) *elffile.File {
	if d == nil || !isBuildID(buildID) {
		return nil
	}
	path := filepath.Join(d.Dir, buildID, kind)
	if file, err := openVerified(path, buildID); err == nil {
		return file
	}
	if d.missed(path) || d.gaveUp(path) {
		return nil
	}
	if !d.fetch(path, buildID, kind) {
		return nil
	}
	file, err := openVerified(path, buildID)
	if err != nil {
		return nil
	}
	return file
}

func isBuildID(id string) bool {
	return len(id) >= 4 && len(id) <= 128 && strings.Trim(id, "0123456789abcdef") == ""
}

func openVerified(path, buildID string) (*elffile.File, error) {
	file, err := elffile.Open(path)
	if err != nil {
		return nil, err
	}
	if file.BuildID != buildID {
		file.Close()
		return nil, fmt.Errorf("the file that came has the build ID %q", file.BuildID)
	}
	return file, nil
}

// missed says whether an empty file tells that no server had it, not long ago.
func (d *Debuginfod) missed(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() > 0 {
		return false
	}
	valid := debuginfodMiss
	if text, err := os.ReadFile(filepath.Join(d.Dir, "cache_miss_s")); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 32); err == nil && n >= 0 {
			valid = time.Duration(n) * time.Second
		}
	}
	return time.Since(info.ModTime()) < valid
}

// gaveUp says whether the file was asked for in vain before, by this client.
func (d *Debuginfod) gaveUp(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed[path]
}

// fetch asks the servers one after the other; false if none has the file.
func (d *Debuginfod) fetch(path, buildID, kind string) bool {
	absent := true
	for _, server := range d.URLs {
		if d.isDown(server) {
			absent = false
			continue
		}
		err := d.download(server, path, buildID, kind)
		if err == nil {
			return true
		}
		if !errors.Is(err, fs.ErrNotExist) {
			absent = false
			d.warn(server, fmt.Errorf("debuginfod: %s: %w", server, err))
		}
	}
	if absent {
		d.noteMiss(path)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		d.failed = map[string]bool{}
	}
	d.failed[path] = true
	return false
}

func (d *Debuginfod) isDown(server string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down[server]
}

// warn keeps the first failure of a server.
func (d *Debuginfod) warn(server string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.warnings == nil {
		d.warnings, d.down = map[string]error{}, map[string]bool{}
	}
	d.warnings[server] = cmp.Or(d.warnings[server], err)
	var unreachable *url.Error
	if errors.As(err, &unreachable) || errors.Is(err, errStalled) {
		d.down[server] = true // every file would take as long
	}
}

// noteMiss leaves an empty file, as elfutils does.
func (d *Debuginfod) noteMiss(path string) {
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = os.WriteFile(path, nil, 0o600) // else it is asked for again
	}
}

var errStalled = errors.New("it delivers nothing, or too slowly (DEBUGINFOD_TIMEOUT)")

// download asks one server and puts the file in its place, whole and verified.
func (d *Debuginfod) download(server, path, buildID, kind string) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if d.MaxTime > 0 {
		defer time.AfterFunc(d.MaxTime, func() { cancel(errors.New("the download takes too long (DEBUGINFOD_MAXTIME)")) }).Stop()
	}
	watch := newWatchdog(d.Timeout, func() { cancel(errStalled) })
	defer watch.stop()
	err := d.request(ctx, watch, strings.TrimRight(server, "/")+"/buildid/"+buildID+"/"+kind, path, buildID)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (d *Debuginfod) request(ctx context.Context, watch *watchdog, address, path, buildID string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "heaplapse")
	resp, err := cmp.Or(d.Client, http.DefaultClient).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	limit := cmp.Or(d.MaxSize, debuginfodMaxSize)
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return fs.ErrNotExist
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s for %s", resp.Status, address)
	case resp.ContentLength > limit:
		return fmt.Errorf("%s has %d bytes, more than the %d allowed (DEBUGINFOD_MAXSIZE)", address, resp.ContentLength, limit)
	}
	return keep(&watchedReader{resp.Body, watch}, limit, path, buildID)
}

// keep writes what comes to a temporary file, which takes its place once it is verified.
func keep(body io.Reader, limit int64, path, buildID string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails once it is renamed
	n, err := io.Copy(tmp, io.LimitReader(body, limit+1))
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("after %d bytes of %s: %w", n, buildID, err)
	}
	if n > limit {
		return fmt.Errorf("%s has more than the %d bytes allowed (DEBUGINFOD_MAXSIZE)", buildID, limit)
	}
	file, err := openVerified(tmp.Name(), buildID)
	if err != nil {
		return fmt.Errorf("asked for %s: %w", buildID, err)
	}
	file.Close()
	return os.Rename(tmp.Name(), path)
}

// watchdog acts unless so many bytes are delivered again and again within its time. A nil one never does.
type watchdog struct {
	timer *time.Timer
	every time.Duration
	bytes int
}

func newWatchdog(every time.Duration, act func()) *watchdog {
	if every <= 0 {
		return nil
	}
	return &watchdog{timer: time.AfterFunc(every, act), every: every}
}

func (w *watchdog) fed(n int) {
	if w == nil {
		return
	}
	if w.bytes += n; w.bytes >= debuginfodChunk {
		w.bytes = 0
		w.timer.Reset(w.every)
	}
}

func (w *watchdog) stop() {
	if w != nil {
		w.timer.Stop()
	}
}

type watchedReader struct {
	r     io.Reader
	watch *watchdog
}

func (r *watchedReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	r.watch.fed(n)
	return n, err
}
