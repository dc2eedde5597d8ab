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
)

// Start prints the first commands that a user needs, with the newest recording of the directory.
func (p Printer) Start(w io.Writer) error {
	recording := cmp.Or(newestRecording("."), "DIR")
	for _, line := range []string{
		"heaplapse record -- CMD ARG…            run a program, and record what is in its heap",
		fmt.Sprintf("heaplapse growth %-22s tell what grows, and whether it leaks", recording),
		fmt.Sprintf("heaplapse report %-22s write a page with charts", recording+" -o report.html"),
		"",
		"heaplapse --help lists all commands.",
	} {
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
