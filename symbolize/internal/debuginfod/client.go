// Package debuginfod downloads programs and debug files by build ID from debuginfod servers
// (debuginfod(8)).
//
// Downloads are kept where elfutils' client keeps them, so that gdb, perf and other tools share
// them (debuginfod-client(7), debuginfod_find_debuginfo(3)):
//
//	CACHE/BUILDID/debuginfo, CACHE/BUILDID/executable   an empty file records that no server has it
//	CACHE/cache_miss_s                                  lifetime of such a negative entry, in seconds
//
// The package never removes a file from the cache; elfutils' client does. It accepts a file only if
// its build ID is the requested one.
package debuginfod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// Client downloads files from debuginfod servers. A nil Client finds nothing. It is safe for
// concurrent use.
type Client struct {
	// URLs are the servers, in the order of the requests. They may have a user name, a password and a
	// query, which no message contains.
	URLs []string
	// Dir is the cache directory.
	Dir string
	// HTTP sends the requests; nil means http.DefaultClient, which honours HTTPS_PROXY.
	HTTP *http.Client
	// Timeout is the time in which a server must deliver 100 KiB; 0 means no limit.
	Timeout time.Duration
	// MaxTime is the time that one download may take; 0 means no limit.
	MaxTime time.Duration
	// MaxSize is the size that a file may have, in bytes; 0 means 8 GiB.
	MaxSize int64

	mu       sync.Mutex
	failed   map[string]bool // paths in the cache that could not be downloaded
	down     map[string]bool // servers not to retry
	warnings map[string]error
}

// Kinds of files that a server has.
const (
	Debuginfo  = "debuginfo"
	Executable = "executable"
)

// missLifetime is the default of debuginfod-client(7).
const missLifetime = 600 * time.Second

// Warnings returns the first failure of each server, in the order of the servers.
func (c *Client) Warnings() (out []error) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, server := range c.URLs {
		if err := c.warnings[server]; err != nil && slices.Index(c.URLs, server) == i {
			out = append(out, err)
		}
	}
	return out
}

// Find opens the file with a build ID, from the cache or from a server. It returns nil if there is
// no such file, if a server fails (see Warnings), or if the context ends.
func (c *Client) Find(ctx context.Context, buildID, kind string) *elffile.File {
	if c == nil || !isBuildID(buildID) {
		return nil
	}
	path := filepath.Join(c.Dir, buildID, kind)
	if file, err := openVerified(path, buildID); err == nil {
		return file
	}
	if c.missed(path) || c.gaveUp(path) || !c.fetch(ctx, path, buildID, kind) {
		return nil
	}
	file, err := openVerified(path, buildID)
	if err != nil {
		return nil
	}
	return file
}

// isBuildID reports whether id may become part of a path and of a URL.
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
		return nil, fmt.Errorf("server returned build ID %q, want %q", file.BuildID, buildID)
	}
	return file, nil
}

// missed reports whether the cache has a negative entry that is still valid.
func (c *Client) missed(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() > 0 {
		return false
	}
	lifetime := missLifetime
	if text, err := infile.ReadSmallRegular(filepath.Join(c.Dir, "cache_miss_s")); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 32); err == nil && n >= 0 {
			lifetime = time.Duration(n) * time.Second
		}
	}
	return time.Since(info.ModTime()) < lifetime
}

// noteMiss writes a negative entry. Without one, the next run asks the servers again.
func (c *Client) noteMiss(path string) {
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = os.WriteFile(path, nil, 0o600)
	}
}

// gaveUp reports whether this client has failed to download the file.
func (c *Client) gaveUp(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed[path]
}

// fetch asks one server after the other and reports whether one had the file.
func (c *Client) fetch(ctx context.Context, path, buildID, kind string) bool {
	absent := true
	for _, server := range c.URLs {
		if c.isDown(server) {
			absent = false
			continue
		}
		err := c.download(ctx, server, path, buildID, kind)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false // this says nothing about the server or the file
		}
		if !errors.Is(err, fs.ErrNotExist) {
			absent = false
			c.warn(server, fmt.Errorf("debuginfod: %s: %w", public(server), err))
		}
	}
	if absent {
		c.noteMiss(path)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = map[string]bool{}
	}
	c.failed[path] = true
	return false
}

func (c *Client) isDown(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down[server]
}

// warn keeps the first failure of a server. A server that cannot be reached or stalls is not asked
// again: each further request would take as long.
func (c *Client) warn(server string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.warnings == nil {
		c.warnings, c.down = map[string]error{}, map[string]bool{}
	}
	c.warnings[server] = cmp.Or(c.warnings[server], err)
	var unreachable *url.Error
	if errors.As(err, &unreachable) || errors.Is(err, errStalled) || errors.Is(err, errTooLong) {
		c.down[server] = true
	}
}
