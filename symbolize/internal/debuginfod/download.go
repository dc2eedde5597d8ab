package debuginfod

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
	"time"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// Limits of a download.
const (
	chunk          = 100 << 10 // bytes that must arrive within Client.Timeout
	defaultMaxSize = 8 << 30
)

var (
	errStalled = errors.New("server sends nothing, or too slowly (DEBUGINFOD_TIMEOUT)")
	errTooLong = errors.New("download takes too long (DEBUGINFOD_MAXTIME)")
)

// download fetches a file from one server. Only a complete file with the requested build ID gets
// the name path.
func (c *Client) download(parent context.Context, server, path, buildID, kind string) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	if c.MaxTime > 0 {
		defer time.AfterFunc(c.MaxTime, func() { cancel(errTooLong) }).Stop()
	}
	watch := newWatchdog(c.Timeout, func() { cancel(errStalled) })
	defer watch.stop()
	u := parseServer(server)
	if u == nil {
		return fmt.Errorf("%s is not the URL of a server", public(server))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("buildid", buildID, kind).String(), nil)
	if err != nil {
		return err
	}
	err = c.request(req, watch, path, buildID)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (c *Client) request(req *http.Request, watch *watchdog, path, buildID string) error {
	req.Header.Set("User-Agent", "heaplapse")
	address, limit := public(req.URL.String()), cmp.Or(c.MaxSize, defaultMaxSize)
	resp, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		failed.URL = public(failed.URL)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return fs.ErrNotExist
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s for %s", resp.Status, address)
	case resp.ContentLength > limit:
		return fmt.Errorf(
			"%s has %d bytes, more than the limit of %d (DEBUGINFOD_MAXSIZE)",
			address,
			resp.ContentLength,
			limit,
		)
	}
	return keep(&watchedReader{resp.Body, watch}, limit, path, buildID)
}

// keep writes a response to a file, unless it is too large or has another build ID.
func keep(body io.Reader, limit int64, path, buildID string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	verify := func(downloaded string) error {
		file, err := openVerified(downloaded, buildID)
		if err != nil {
			return fmt.Errorf("request for %s: %w", buildID, err)
		}
		return file.Close()
	}
	return atomicfile.Write(path, atomicfile.Options{Mode: 0o600, Verify: verify}, func(w io.Writer) error {
		n, err := io.Copy(&spaceKeeper{w: w, dir: filepath.Dir(path)}, io.LimitReader(body, limit+1))
		if err != nil {
			return fmt.Errorf("after %d bytes of %s: %w", n, buildID, err)
		}
		if n > limit {
			return fmt.Errorf("%s has more bytes than the limit of %d (DEBUGINFOD_MAXSIZE)", buildID, limit)
		}
		return nil
	})
}

// spaceKeeper is a writer that fails before it fills the disk of a directory.
type spaceKeeper struct {
	w       io.Writer
	dir     string
	granted int // bytes that may be written before the next look
}

// A download leaves leastFree bytes of the disk. The free space is looked at each lookEvery bytes.
const (
	leastFree = 256 << 20
	lookEvery = 16 << 20
)

var errNoSpace = fmt.Errorf("the download leaves less than %d MiB of the disk free", leastFree>>20)

func (s *spaceKeeper) Write(b []byte) (int, error) {
	if s.granted -= len(b); s.granted < 0 {
		if free, ok := freeSpace(s.dir); ok && free < leastFree+lookEvery {
			return 0, errNoSpace
		}
		s.granted = lookEvery
	}
	return s.w.Write(b)
}

// watchdog fires when fewer than chunk bytes arrive per interval. A nil watchdog never fires.
type watchdog struct {
	timer    *time.Timer
	interval time.Duration
	bytes    int
}

func newWatchdog(interval time.Duration, fire func()) *watchdog {
	if interval <= 0 {
		return nil
	}
	return &watchdog{timer: time.AfterFunc(interval, fire), interval: interval}
}

func (w *watchdog) arrived(n int) {
	if w == nil {
		return
	}
	if w.bytes += n; w.bytes >= chunk {
		w.bytes = 0
		w.timer.Reset(w.interval)
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
	r.watch.arrived(n)
	return n, err
}
