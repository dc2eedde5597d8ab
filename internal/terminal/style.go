package terminal

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Colors reports whether a writer is a terminal that shows colors. The function returns the values
// of environment variables: TERM and NO_COLOR (no-color.org) count.
func Colors(w io.Writer, getenv func(string) string) bool {
	return Is(w) && styled(getenv)
}

func styled(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "" && getenv("TERM") != "dumb"
}

// Hyperlinks reports whether a writer is a terminal that takes OSC 8 (hyperlinks), as far as that
// is known. Most terminals that do not know the sequence ignore it; takesOSC8 leaves out some that
// do not.
func Hyperlinks(w io.Writer, getenv func(string) string) bool {
	return Is(w) && styled(getenv) && takesOSC8(getenv)
}

// takesOSC8 leaves out the Linux console, Emacs, GNU screen outside of tmux, and VTE before 0.50.1,
// as GCC does (gcc/diagnostic-color.cc, auto_enable_urls, has a similar list).
func takesOSC8(getenv func(string) string) bool {
	term := getenv("TERM")
	if term == "linux" || getenv("INSIDE_EMACS") != "" || strings.HasPrefix(term, "screen") && getenv("TMUX") == "" {
		return false
	}
	vte, err := strconv.Atoi(getenv("VTE_VERSION"))
	return err != nil || vte >= 5001
}

// SourceURL returns a function for the URLs of lines of source files that exist on this machine:
// file://HOST/PATH#LINE. A terminal that does not use the fragment opens the file. The function
// returns "" for other files. It is not safe for concurrent use.
func SourceURL() func(file string, line int) string {
	host, err := os.Hostname()
	if err != nil {
		host = "" // the file is on this machine, in any case
	}
	paths := map[string]string{}
	return func(file string, line int) string {
		path, ok := paths[file]
		if !ok {
			path = existing(file)
			paths[file] = path
		}
		if path == "" {
			return ""
		}
		return (&url.URL{Scheme: "file", Host: host, Path: path, Fragment: strconv.Itoa(line)}).String()
	}
}

// existing returns the absolute path of a regular file, or "".
func existing(file string) string {
	path, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return filepath.ToSlash(path)
}
