package debuginfod

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Defaults. That of DEBUGINFOD_TIMEOUT is the one of debuginfod-client(7), which has no DEBUGINFOD_MAXTIME:
// a server could keep a command waiting for hours.
const (
	defaultTimeout = 90 * time.Second
	defaultMaxTime = 15 * time.Minute
)

// New returns a client for servers. Each word is a URL, several URLs separated by blanks, or "env",
// which means the URLs in DEBUGINFOD_URLS. The variables DEBUGINFOD_CACHE_PATH,
// DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME and DEBUGINFOD_MAXSIZE have the meaning that
// debuginfod-client(7) gives them. Without a server, New returns nil.
func New(words []string, getenv func(string) string) (*Client, error) {
	c := &Client{Dir: cacheDir(getenv), Timeout: defaultTimeout, MaxTime: defaultMaxTime}
	for _, word := range strings.Fields(strings.Join(words, " ")) {
		if word == "env" {
			c.URLs = append(c.URLs, strings.Fields(getenv("DEBUGINFOD_URLS"))...)
			continue
		}
		c.URLs = append(c.URLs, word)
	}
	for _, text := range c.URLs {
		if parseServer(text) == nil {
			return nil, fmt.Errorf("%q is not the URL of a server: want http://… or https://…", public(text))
		}
	}
	if len(c.URLs) == 0 {
		return nil, nil
	}
	if c.Dir == "" {
		return nil, errors.New("no cache directory for downloads: set DEBUGINFOD_CACHE_PATH")
	}
	if err := c.limits(getenv); err != nil {
		return nil, err
	}
	return c, nil
}

// parseServer parses the URL of a server. It returns nil for other text.
func parseServer(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil
	}
	return u
}

// public returns the URL of a server without a user name, a password and a query, which must not be
// printed.
func public(server string) string {
	server, _, _ = strings.Cut(server, "?")
	u := parseServer(server)
	if u == nil {
		if i := strings.LastIndexByte(server, '@'); i >= 0 {
			return "…" + server[i:]
		}
		return server
	}
	u.User, u.Fragment = nil, ""
	return u.String()
}

// limits reads the variables that hold numbers.
func (c *Client) limits(getenv func(string) string) error {
	for _, limit := range []struct {
		name string
		set  func(int64)
	}{
		{"DEBUGINFOD_TIMEOUT", func(n int64) { c.Timeout = time.Duration(n) * time.Second }},
		{"DEBUGINFOD_MAXTIME", func(n int64) { c.MaxTime = time.Duration(n) * time.Second }},
		{"DEBUGINFOD_MAXSIZE", func(n int64) { c.MaxSize = n }},
	} {
		text := getenv(limit.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > 1<<33 {
			return fmt.Errorf("%s=%s: want a number", limit.name, text)
		}
		limit.set(n)
	}
	return nil
}

// cacheDir returns the cache directory that elfutils' client would choose, "" if there is none.
func cacheDir(getenv func(string) string) string {
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
