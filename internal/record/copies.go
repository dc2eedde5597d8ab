//go:build linux

package record

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// maxJIT is the maximum size of a copy of a map of generated code, in bytes.
const maxJIT = 512 << 20

// jitCopies copies perf maps and jitdumps. The originals grow while the program runs. Later they
// are deleted, or overwritten by another process with the same number.
type jitCopies struct {
	dir  string
	seen map[string]jitState // by name of the copy
}

type jitState struct {
	size   int64
	copied time.Time
}

var jitdumpName = regexp.MustCompile(`/jit-\d+\.dump$`)

// jitSources returns the paths of the maps of generated code of a process, by kind. Perf maps are
// in /tmp by convention. A jitdump is mapped by the process.
func jitSources(pid int, maps []string) map[string]string {
	out := map[string]string{}
	for _, m := range maps {
		if jitdumpName.MatchString(m) {
			out["jitdump"] = m
		}
	}
	perf := fmt.Sprintf("/tmp/perf-%d.map", pid)
	out["perf-map"] = perf
	if inside := fmt.Sprintf("/proc/%d/root%s", pid, perf); exists(inside) {
		out["perf-map"] = inside
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// jitEvery is the minimum time between two copies of one map. It does not apply to the first and
// the last copy.
const jitEvery = 30 * time.Second

// update copies the maps that have changed and returns those that were copied for the first time.
func (j *jitCopies) update(pid int, maps []string, last bool) (files []manifest.File, err error) {
	for kind, source := range jitSources(pid, maps) {
		name := fmt.Sprintf("perf-%d.map", pid)
		if kind == "jitdump" {
			name = fmt.Sprintf("jit-%d.dump", pid)
		}
		info, statErr := os.Stat(source)
		state, known := j.seen[name]
		if statErr != nil || !info.Mode().IsRegular() || info.Size() == state.size {
			continue
		}
		if known && !last && time.Since(state.copied) < jitEvery {
			continue
		}
		if err := copyFile(source, filepath.Join(j.dir, name)); err != nil {
			return files, err
		}
		if j.seen == nil {
			j.seen = map[string]jitState{}
		}
		j.seen[name] = jitState{info.Size(), time.Now()}
		if !known {
			path := strings.TrimPrefix(source, fmt.Sprintf("/proc/%d/root", pid))
			files = append(files, manifest.File{File: name, Path: path, Kind: kind, PID: pid})
		}
	}
	return files, nil
}

// copyFile copies a file atomically.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeAtomic(to, 0o644, io.LimitReader(in, maxJIT))
}

// runtimeSettings returns the variables for language runtimes that the options request.
func (p *Plan) runtimeSettings() []Setting {
	var s []Setting
	if p.JIT {
		node := strings.TrimSpace(program.Getenv(p.Env, "NODE_OPTIONS") + " --perf-basic-prof --interpreted-frames-native-stack")
		s = append(s, Setting{"NODE_OPTIONS", node}, Setting{"PYTHONPERFSUPPORT", "1"})
	}
	if p.PythonMalloc {
		s = append(s, Setting{"PYTHONMALLOC", "malloc"})
	}
	return s
}

// runtimeHints returns options that show more of the memory of a language runtime.
func (p *Plan) runtimeHints() []string {
	base := filepath.Base(p.Target.Exe)
	switch {
	case strings.HasPrefix(base, "python") || strings.HasPrefix(filepath.Base(p.Target.Path), "python"):
		if !p.PythonMalloc && program.Getenv(p.Env, "PYTHONMALLOC") == "" {
			return []string{"CPython keeps objects of up to 512 bytes in its own arenas" +
				p.Flags.If(option.PythonMalloc, "; %s shows each of them, and makes the program slower")}
		}
	case base == "node" || base == "nodejs":
		options := strings.Join(p.Command, " ") + program.Getenv(p.Env, "NODE_OPTIONS")
		if !p.JIT && !strings.Contains(options, "--perf-basic-prof") {
			return []string{"use " + p.Flags.Of(option.JIT) + " to see the names of JavaScript functions"}
		}
	}
	return nil
}

// keepVDSO copies [vdso], the ELF image that the kernel maps into every process and that no file
// contains. The image of this process equals that of the program. keepVDSO does nothing if the
// kernel has none.
func keepVDSO(dir string, out *manifest.Writer) error {
	image, err := proc.ReadVDSO()
	if err != nil || image == nil {
		return nil //nolint:nilerr // a recording is useful without the names of [vdso]
	}
	if err := writeAtomic(filepath.Join(dir, manifest.VDSOFile), 0o644, bytes.NewReader(image)); err != nil {
		return err
	}
	return out.File(manifest.File{File: manifest.VDSOFile, Path: "[vdso]", Kind: "vdso"})
}

// writeAtomic writes a file atomically. The umask does not apply to its mode, because the recorded
// program may run as another user.
func writeAtomic(path string, mode fs.FileMode, content io.Reader) error {
	return atomicfile.Write(path, atomicfile.Options{Mode: mode}, func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	})
}
