//go:build linux

package record

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// maxJIT bounds what is copied of one map of generated code, in bytes.
const maxJIT = 512 << 20

// jitCopies keeps copies of perf maps and jitdumps: they are deleted, or overwritten by another process of the same
// number, and grow while the program runs.
type jitCopies struct {
	dir  string
	seen map[string]jitState // by the copy's name
}

type jitState struct {
	size   int64
	copied time.Time
}

var jitdumpName = regexp.MustCompile(`/jit-\d+\.dump$`)

// sources are where a process has maps of generated code: by convention in /tmp, a jitdump also where it is mapped.
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

// jitEvery is the least time between two copies of one map; the first and the last come at once.
const jitEvery = 30 * time.Second

// update copies what has grown, and returns what is new.
func (j *jitCopies) update(pid int, maps []string, last bool) (files []manifest.File, err error) {
	for kind, source := range jitSources(pid, maps) {
		name := fmt.Sprintf("perf-%d.map", pid)
		if kind == "jitdump" {
			name = fmt.Sprintf("jit-%d.dump", pid)
		}
		info, statErr := os.Stat(source)
		state, known := j.seen[name]
		if statErr != nil || !info.Mode().IsRegular() || info.Size() == state.size || (known && !last && time.Since(state.copied) < jitEvery) {
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
			files = append(files, manifest.File{File: name, Path: strings.TrimPrefix(source, fmt.Sprintf("/proc/%d/root", pid)), Kind: kind, PID: pid})
		}
	}
	return files, nil
}

// copyFile copies whole or not at all.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeWhole(to, 0o644, io.LimitReader(in, maxJIT))
}

// runtimeSettings make language runtimes name what they generate, if asked to.
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

// runtimeHints say what would show more of a language's memory.
func (p *Plan) runtimeHints() []string {
	base := filepath.Base(p.Target.Exe)
	command := strings.Join(p.Command, " ")
	switch {
	case strings.HasPrefix(base, "python") || strings.HasPrefix(filepath.Base(p.Target.Path), "python"):
		if !p.PythonMalloc && program.Getenv(p.Env, "PYTHONMALLOC") == "" {
			return []string{"CPython keeps objects of up to 512 bytes in arenas of its own: --python-malloc makes each of them visible, and the program slower"}
		}
	case base == "node" || base == "nodejs":
		if !p.JIT && !strings.Contains(command+program.Getenv(p.Env, "NODE_OPTIONS"), "--perf-basic-prof") {
			return []string{"JavaScript functions have names with --jit"}
		}
	}
	return nil
}
