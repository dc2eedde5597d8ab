package scrape

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/request"
	"github.com/heaplapse/heaplapse/internal/spool"
)

// profile is a URL that is requested again and again.
type profile struct {
	url      *url.URL
	kind     string // heap, goroutines, or "" before the first answer of a URL that does not tell
	optional bool   // the service may not have it
	taken    int    // snapshots so far
	gap      gap
}

// fetched is a profile that was read and found to be whole. It is in a temporary file, so that it
// takes no memory before it is known what it is.
type fetched struct {
	*spool.Spool
	at         time.Time
	head       heapfile.Head
	compressed string // .gz, .zst or ""
}

// entry is the name of the profile in the Spool.
const entry = "profile"

// sniff is the number of bytes that tell what a response is.
const sniff = 512

// fetch requests a profile and reads it. The caller closes the result.
func (c *client) fetch(ctx context.Context, p *profile) (*fetched, error) {
	a, err := c.get(ctx, p.url)
	if err != nil {
		return nil, err
	}
	defer a.End()
	in := bufio.NewReaderSize(a, sniff)
	head, err := in.Peek(sniff)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(head) == 0:
		return nil, errors.New("an empty answer")
	case isHTML(head):
		return nil, errHTML
	}
	f := &fetched{at: a.Began, compressed: compression(head)}
	if f.Spool, err = spool.New(); err != nil {
		return nil, err
	}
	if err = f.Add(entry, a.Began, in); err == nil {
		err = c.read(ctx, f, p)
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if a.HTML && errors.As(err, new(*heapfile.FormatError)) { // frameworks send any text with this type
		err = errHTML
	}
	return nil, err
}

var errHTML = request.Refuse("the answer is an HTML page instead of a profile: is this the URL of the profile itself, and is no login needed?")

// read reads a profile as the other commands will. It takes as long as a request at most: a small
// answer can be the compressed form of a very large profile.
func (c *client) read(ctx context.Context, f *fetched, p *profile) error {
	began := time.Now()
	d := heapfile.Decoder{Check: func(more int64) error {
		if c.Timeout > 0 && time.Since(began) > c.Timeout {
			return fmt.Errorf("not read within %s (%s)", c.Timeout, option.Timeout)
		}
		if ctx.Err() != nil || c.Check == nil {
			return ctx.Err()
		}
		return c.Check(more)
	}}
	s, err := d.ReadFile(f, entry, "the answer")
	if err != nil {
		return request.AsRefusal(err)
	}
	if s.Completeness.Unfinished { // HTTP/1.0 does not tell a text that is cut
		return request.ErrEndsEarly
	}
	f.head = s.Head
	if kind := kindOf(&s.Head); p.kind != "" && kind != p.kind {
		return request.Refuse("the answer is a %s profile instead of a %s profile", kind, p.kind)
	}
	return nil
}

// kindOf returns the kind of a profile.
func kindOf(h *heapfile.Head) string {
	if h.Format == heapfile.FormatGoroutines {
		return goroutines
	}
	return heap
}

func isHTML(head []byte) bool {
	head = bytes.ToLower(bytes.TrimSpace(head))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

// compression returns the suffix of files with this beginning.
func compression(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return ".gz"
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return ".zst"
	}
	return ""
}
