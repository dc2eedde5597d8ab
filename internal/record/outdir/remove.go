package outdir

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
)

// Remove removes the recording that a directory holds: the manifest, the files that it lists, and
// those that its recorder left when it was killed. Other files stay, and symbolic links are not
// followed. After an error, all files are still there.
func Remove(dir string) error {
	if info, err := os.Lstat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is a symbolic link", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if manifest.Busy(dir) {
		return errors.New("another recorder is writing to it")
	}
	list, err := files(root)
	if err != nil {
		return err
	}
	return removeAll(root, list)
}

// files returns the names of the files of the recording, that of the manifest last: as long as it
// is there, the directory holds a recording. A file that is not regular is an error.
func files(root *os.Root) (list []string, err error) {
	m, err := manifest.Load(root.Name())
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, nil
	}
	entries, err := os.ReadDir(root.Name())
	if err != nil {
		return nil, err
	}
	known := namesOf(m)
	for _, e := range entries {
		if !known.has(e.Name()) {
			continue
		}
		if !e.Type().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file", e.Name())
		}
		list = append(list, e.Name())
	}
	return append(list, manifest.Name), nil
}

var (
	// numbered matches the name of a snapshot of a series, such as p_4711.0012.heap. Its first part
	// is that of all snapshots of the series.
	numbered = regexp.MustCompile(`^(.+)\.\d+(?:\.[a-z]\d+)?\.(?:heap|heap\.tmp|pb)$`)
	// beside matches the name of what the engine tells of a process. Its first part has the prefix
	// and the number of the process.
	beside = regexp.MustCompile(`^(.+?\.\d+)(?:\.\d+)?\.(?:events|frames|holders)\.jsonl$`)
	// compressed matches the suffix of a compressed snapshot.
	compressed = regexp.MustCompile(`\.(?:gz|zst)$`)
)

// names are those of the files of a recording, without the suffixes of compression: the files that
// the manifest lists and, of a recorder that was killed, further snapshots of a series that it
// lists and what the engine told of its processes.
type names struct{ listed, series, processes map[string]bool }

func namesOf(m *manifest.Manifest) names {
	n := names{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, f := range m.Files {
		n.listed[f.File] = true
	}
	for _, d := range m.Dropped {
		n.listed[d.File] = true
	}
	for _, s := range m.Snapshots {
		n.listed[s.File] = true
		if parts := numbered.FindStringSubmatch(s.File); parts != nil {
			pid := strconv.Itoa(s.PID)
			n.series[parts[1]] = true
			n.processes[strings.TrimSuffix(parts[1], "_"+pid)+"."+pid] = true
		}
	}
	return n
}

// has reports whether a file is one of the recording, other than the manifest.
func (n names) has(name string) bool {
	switch name {
	case manifest.Name:
		return false
	case manifest.NamesFile:
		return true
	}
	name = compressed.ReplaceAllString(name, "")
	if parts := numbered.FindStringSubmatch(name); parts != nil && n.series[parts[1]] {
		return true
	}
	parts := beside.FindStringSubmatch(name)
	return n.listed[name] || parts != nil && n.processes[parts[1]]
}

// removeAll removes files, the last one last. Each gets the name of a temporary file first, so that
// an error leaves all of them.
func removeAll(root *os.Root, files []string) error {
	for i, name := range files {
		if err := root.Rename(name, atomicfile.TemporaryName(i)); err != nil {
			for k, moved := range slices.Backward(files[:i]) {
				err = errors.Join(err, root.Rename(atomicfile.TemporaryName(k), moved))
			}
			return err
		}
	}
	for i := range files {
		_ = root.Remove(atomicfile.TemporaryName(i)) // else the next writer to the directory does
	}
	return nil
}
