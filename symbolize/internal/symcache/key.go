package symcache

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// Key is what answers depend on: the version of this program, settings, and files.
type Key struct {
	lines []string
	files []fileState
}

// fileState identifies one version of a file.
type fileState struct{ local, text string }

// settled is the age from which the modification time of a file without a build ID identifies its
// content. A younger file may change again within the resolution of that time.
const settled = 2 * time.Second

// NewKey returns a key for settings.
func NewKey(settings string) *Key {
	return &Key{lines: []string{"heaplapse " + buildVersion(), settings}}
}

// buildVersion returns the version of this program: another version may have other answers.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}

// Add makes the key depend on a file. It fails if this version of the file cannot be identified.
func (k *Key) Add(role string, file *elffile.File) error {
	state, err := stateOf(file)
	if err == nil {
		k.files = append(k.files, state)
		k.lines = append(k.lines, role+" "+state.text)
	}
	return err
}

func (k *Key) text() string { return strings.Join(k.lines, "\n") }

// stateOf describes a file as it was when it was opened: build ID (else path and inode), size,
// modification time.
func stateOf(file *elffile.File) (fileState, error) {
	info := file.Info
	if file.BuildID == "" && time.Since(info.ModTime()) < settled {
		return fileState{}, fmt.Errorf("%s: changed just now", file.Path)
	}
	id := "build ID " + file.BuildID
	if file.BuildID == "" {
		path, err := filepath.Abs(file.Path)
		if err != nil {
			return fileState{}, err
		}
		id = fmt.Sprintf("path %q inode %d", path, inode(info))
	}
	return fileState{file.Local, fmt.Sprintf("%s size %d time %d", id, info.Size(), info.ModTime().UnixNano())}, nil
}

// current reports whether the files are still those that were added.
func (k *Key) current() bool {
	for _, was := range k.files {
		file, err := elffile.Open(was.local)
		if err != nil {
			return false
		}
		now, err := stateOf(file)
		file.Close()
		if err != nil || now != was {
			return false
		}
	}
	return true
}
