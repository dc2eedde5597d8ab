package debuginfod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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
	address := strings.TrimRight(withoutUser(server), "/") + "/buildid/" + buildID + "/" + kind
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	if u := parseServer(server); u != nil && u.User != nil {
		password, _ := u.User.Password()
		req.SetBasicAuth(u.User.Username(), password)
	}
	err = c.request(req, watch, path, buildID)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (c *Client) request(req *http.Request, watch *watchdog, path, buildID string) error {
	req.Header.Set("User-Agent", "heaplapse")
	resp, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	address, limit := req.URL.String(), cmp.Or(c.MaxSize, defaultMaxSize)
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
		n, err := io.Copy(w, io.LimitReader(body, limit+1))
		if err != nil {
			return fmt.Errorf("after %d bytes of %s: %w", n, buildID, err)
		}
		if n > limit {
			return fmt.Errorf("%s has more bytes than the limit of %d (DEBUGINFOD_MAXSIZE)", buildID, limit)
		}
		return nil
	})
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
