//go:build linux

package collect

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// copyMaps copies the maps of generated code of a process. last is for the final copy.
func (c *Collector) copyMaps(p *process, last bool) {
	s := c.lastOf(p.pid)
	if s == nil {
		return
	}
	if user, ok := proc.User(p.pid); ok && p.known {
		p.user = user // a wrapper may have changed it
	}
	files, errs := c.jit.update(p.pid, p.user, s.Maps, last)
	for _, err := range errs {
		c.problem(err)
	}
	for _, f := range files {
		c.checkWrite(c.out.File(f))
	}
}

// maxJIT is the maximum size of a copy of a map of generated code, in bytes.
const maxJIT = 512 << 20

// jitCopies copies perf maps and jitdumps. The originals grow while the program runs. Later they
// are deleted, or overwritten by another process with the same number.
type jitCopies struct {
	dir  string
	seen map[string]jitState // by name of the copy
	own  map[int]int         // the numbers that processes have for themselves, if others
}

// ownNumber returns the number that a process has, or had, for itself.
func (j *jitCopies) ownNumber(pid int) int {
	if own, ok := proc.Own(pid); ok && own != pid {
		if j.own == nil {
			j.own = map[int]int{}
		}
		j.own[pid] = own
	}
	return cmp.Or(j.own[pid], pid)
}

type jitState struct {
	size   int64
	copied time.Time
}

var jitdumpName = regexp.MustCompile(`/jit-\d+\.dump$`)

// jitFiles returns the maps of generated code of a process, which has a number for itself. A perf map is in /tmp by
// convention. A jitdump is mapped by the process.
func jitFiles(pid, own int, maps []string) []manifest.File {
	files := []manifest.File{{
		File: fmt.Sprintf("perf-%d.map", pid), Path: fmt.Sprintf("/tmp/perf-%d.map", own), Kind: "perf-map", PID: pid,
	}}
	for _, path := range slices.Backward(maps) {
		if jitdumpName.MatchString(path) {
			name := fmt.Sprintf("jit-%d.dump", pid)
			return append(files, manifest.File{File: name, Path: path, Kind: "jitdump", PID: pid})
		}
	}
	return files
}

// openJIT opens a map of generated code in the root directory of the process or, if the process has
// ended, in that of this one. Every user can make a file of this name in /tmp, so it is used only
// if root or the user of the process owns it, as perf does.
func openJIT(pid, user int, path string) (*os.File, fs.FileInfo, error) {
	f, info, err := infile.OpenOwned(fmt.Sprintf("/proc/%d/root%s", pid, path), user)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return infile.OpenOwned(path, user)
	}
	return f, info, err
}

// jitEvery is the minimum time between two copies of one map. It does not apply to the first and
// the last copy.
const jitEvery = 30 * time.Second

// update copies the maps of a process that have changed. user is the user of the process. It
// returns those that were copied for the first time, and an error for each that could not be
// copied.
func (j *jitCopies) update(pid, user int, maps []string, last bool) (copied []manifest.File, errs []error) {
	for _, file := range jitFiles(pid, j.ownNumber(pid), maps) {
		_, known := j.seen[file.File]
		done, err := j.copy(file, user, last)
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err // its path may be that below /proc/PID/root
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s was not copied: %w", file.Path, err))
		}
		if done && !known {
			copied = append(copied, file)
		}
	}
	return copied, errs
}

// copy copies a map if it has changed since the last copy. The copy has the permission bits of the
// original.
func (j *jitCopies) copy(file manifest.File, user int, last bool) (done bool, err error) {
	in, info, err := openJIT(file.PID, user, file.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer in.Close()
	state, known := j.seen[file.File]
	if info.Size() == state.size || (known && !last && time.Since(state.copied) < jitEvery) {
		return false, nil
	}
	mode := cmp.Or(info.Mode().Perm(), 0o600)
	if err := writeAtomic(filepath.Join(j.dir, file.File), mode, io.LimitReader(in, maxJIT)); err != nil {
		return false, err
	}
	if j.seen == nil {
		j.seen = map[string]jitState{}
	}
	j.seen[file.File] = jitState{info.Size(), time.Now()}
	return true, nil
}

// writeAtomic writes a file of the recording atomically. mode is 0 for that of a new file. Only the owner may write to
// it. It does not follow a link of this name, because the directory may belong to another user.
func writeAtomic(path string, mode fs.FileMode, content io.Reader) error {
	o := atomicfile.Options{Mode: mode, Replace: true, Finish: atomicfile.OnlyForOwner}
	return atomicfile.Write(path, o, func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	})
}
