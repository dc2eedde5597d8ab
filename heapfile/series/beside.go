package series

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// OpenBeside opens a file that the recorder wrote about a process image next to its snapshots: PREFIX.PID.SUFFIX or,
// from the second image on, PREFIX.PID.IMAGE.SUFFIX. The path is the one to show.
func (s *Series) OpenBeside(image int, suffix string) (file fs.File, path string, err error) {
	pid := s.PID()
	name := fmt.Sprintf("%s.%d", strings.TrimSuffix(filepath.Base(s.Process.Prefix), fmt.Sprintf("_%d", pid)), pid)
	if image > 0 {
		name += fmt.Sprintf(".%d", image)
	}
	path = filepath.Join(s.Dir(), name+suffix)
	first := s.files[0]
	entry := filepath.Join(filepath.Dir(first.Entry), name+suffix)
	if info, err := fs.Stat(first.FS, entry); err != nil || !info.Mode().IsRegular() {
		return nil, path, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	file, err = first.FS.Open(entry)
	return file, path, err
}
