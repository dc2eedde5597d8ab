package help

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/report/text"
)

// Start prints the first commands that a user needs, with the newest recording of the directory.
func (p Printer) Start(w io.Writer) error {
	recording := cmp.Or(newestRecording("."), "DIR")
	commands := [][2]string{
		{"record -- CMD ARG…", "run a program, and record what is in its heap"},
		{"growth " + recording, "tell what grows, and whether it leaks"},
		{"report " + recording + " -o report.html", "write a page with charts"},
	}
	width := 0
	for _, c := range commands {
		width = max(width, text.Width(c[0]))
	}
	var lines []string
	for _, c := range commands {
		lines = append(lines, "heaplapse "+text.Pad(c[0], width)+"  "+c[1])
	}
	for _, line := range append(lines, "", "heaplapse --help lists all commands.") {
		if _, err := fmt.Fprintln(w, strings.Join(p.item(line), "\n")); err != nil {
			return err
		}
	}
	return nil
}

// newestRecording returns the subdirectory with the newest manifest; "" if there is none.
func newestRecording(dir string) (name string) {
	var newest time.Time
	files, _ := filepath.Glob(filepath.Join(dir, "*", manifest.Name))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.ModTime().After(newest) {
			name, newest = filepath.Base(filepath.Dir(f)), info.ModTime()
		}
	}
	return name
}
