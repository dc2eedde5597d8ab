package held

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/infile"
	"github.com/heaplapse/heaplapse/internal/record/proc"
)

// most returns the number of files that may be held: a quarter of those that this process may have open, which it needs
// for the recording.
func most() int {
	const all, enough = 4096, 64
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < enough {
		return 0
	}
	return int(min(all, limit.Cur/4))
}

// Add holds a program or library that a process has mapped, by its path in /proc/PID/maps. A file that cannot be
// opened, or that is something else, is left out.
func (f *Files) Add(pid int, path string) {
	r := f.root(pid)
	if r == nil || r.seen[path] {
		return
	}
	r.seen[path] = true
	path, deleted := strings.CutSuffix(path, proc.DeletedSuffix)
	if r.files[path] != nil || f.held >= most() || !strings.HasPrefix(path, "/") {
		return
	}
	var file *os.File
	if deleted {
		file = openMapped(pid, path)
	} else {
		file = r.open(path)
	}
	if file != nil {
		r.files[path] = file
		f.held++
	}
}

// root returns the root directory of a process, or nil if it cannot be opened.
func (f *Files) root(pid int) *root {
	if r, known := f.processes[pid]; known {
		return r
	}
	if f.processes == nil {
		f.processes = map[int]*root{}
	}
	f.processes[pid] = f.openRoot(fmt.Sprintf("/proc/%d/root", pid))
	return f.processes[pid]
}

func (f *Files) openRoot(path string) *root {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	for _, r := range f.roots {
		if os.SameFile(r.info, info) {
			return r
		}
	}
	r := &root{info: info, files: map[string]*os.File{}, seen: map[string]bool{}}
	if own, err := os.Stat("/"); err != nil || !os.SameFile(own, info) {
		if r.dir, err = os.OpenFile(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return nil
		}
	}
	f.roots = append(f.roots, r)
	return r
}

// open opens a file of the root directory. Links in a container lead to other files of the container, not to those of
// this process (openat2 with RESOLVE_IN_ROOT, from Linux 5.6 on).
func (r *root) open(path string) *os.File {
	if r.dir == nil {
		return openProgram(path)
	}
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(int(r.dir.Fd()), path, &how)
	if err != nil {
		return nil
	}
	return program(os.NewFile(uintptr(fd), path))
}

// openMapped opens a file that was removed or replaced since a process has mapped it.
func openMapped(pid int, path string) *os.File {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		line := lines.Text()
		if !strings.HasSuffix(line, " "+path+proc.DeletedSuffix) {
			continue
		}
		addresses, _, _ := strings.Cut(line, " ")
		at := fmt.Sprintf("/proc/%d/map_files/%s", pid, trimZeros(addresses))
		if f := openProgram(at); f != nil {
			return f
		}
		break // map_files needs CAP_CHECKPOINT_RESTORE
	}
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	if target, err := os.Readlink(exe); err == nil && target == path+proc.DeletedSuffix {
		return openProgram(exe)
	}
	return nil
}

// trimZeros removes the zeros with which addresses in maps begin: the names in map_files have none.
func trimZeros(addresses string) string {
	start, end, _ := strings.Cut(addresses, "-")
	return strings.TrimLeft(start, "0") + "-" + strings.TrimLeft(end, "0")
}

// openProgram opens a regular file in the format ELF. It returns nil if there is none.
func openProgram(path string) *os.File {
	f, _, err := infile.Open(path)
	if err != nil {
		return nil
	}
	return program(f)
}

// program returns an open file if it is a regular one in the format ELF, or nil.
func program(f *os.File) *os.File {
	magic := make([]byte, len(elf.ELFMAG))
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		if _, err := f.ReadAt(magic, 0); err == nil && string(magic) == elf.ELFMAG {
			return f
		}
	}
	f.Close()
	return nil
}
