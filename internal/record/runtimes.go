//go:build linux

package record

import (
	"path/filepath"
	"strings"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

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
		if !p.engine.seesPython() && !p.PythonMalloc && program.Getenv(p.Env, "PYTHONMALLOC") == "" {
			return []string{"CPython keeps objects of up to 512 bytes in its own arenas" +
				p.Flags.If(option.PythonMalloc, "; %s shows each of them, and makes the program slower")}
		}
	case base == "node" || base == "nodejs":
		options := strings.Join(p.Command, " ") + program.Getenv(p.Env, "NODE_OPTIONS")
		if !p.engine.seesGenerated() {
			return []string{p.Engine + " shows no JavaScript functions; the built-in engine and tcmalloc do" +
				p.Flags.If(option.JIT, ", with %s")}
		}
		if !p.JIT && !strings.Contains(options, "--perf-basic-prof") {
			return []string{"use " + p.Flags.Of(option.JIT) + " to see the names of JavaScript functions"}
		}
	}
	return nil
}
