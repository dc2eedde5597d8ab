//go:build linux

package record

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// runtimeSettings returns the variables for language runtimes that the options request.
func (p *Plan) runtimeSettings() []Setting {
	var s []Setting
	if p.JIT {
		s = append(s, p.addOptions("NODE_OPTIONS", "--perf-basic-prof --interpreted-frames-native-stack"),
			Setting{"PYTHONPERFSUPPORT", "1"}, p.addOptions("JAVA_TOOL_OPTIONS", javaOptions))
	}
	if p.PythonMalloc {
		s = append(s, Setting{"PYTHONMALLOC", "malloc"})
	}
	return s
}

// addOptions adds options to those that a variable of the program has.
func (p *Plan) addOptions(variable, options string) Setting {
	return Setting{variable, strings.TrimSpace(program.Getenv(p.Env, variable) + " " + options)}
}

// javaOptions let the JVM (17 and later) write a perf map when it exits, and keep the frame pointers that walking its
// frames needs. An older one has no such map, and ignores the option.
const javaOptions = "-XX:+IgnoreUnrecognizedVMOptions -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions " +
	"-XX:+DumpPerfMapAtExit"

const phpBlocks = "; PHP takes memory in blocks: if it starts with USE_ZEND_ALLOC=0 in its environment, each " +
	"allocation is seen"

// languages tells what a recording of an interpreter or virtual machine shows, and what shows the
// rest, by the names of its programs.
var languages = []struct {
	program *regexp.Regexp
	shows   string
}{
	{regexp.MustCompile(`^java$`), "the memory of the JVM and of native libraries is seen, the Java heap is not: " +
		"jcmd PID GC.class_histogram lists its objects"},
	{regexp.MustCompile(`^lua(jit)?[-.0-9]*$`), "functions of the interpreter and of C modules are named, lines of Lua " +
		"are not: collectgarbage(\"count\") returns how much Lua keeps"},
	{regexp.MustCompile(`^perl[-.0-9]*$`), "Devel::MAT shows what Perl keeps"},
	{regexp.MustCompile(`^php(-fpm|-cgi)?[-.0-9]*$`), "functions of extensions are named" + phpBlocks},
	{regexp.MustCompile(`^ruby[-.0-9]*$`), "objects of up to 40 bytes are in pages of Ruby's heap: " +
		"ObjectSpace.trace_object_allocations and dump_all name them"},
}

// languageHint tells what is seen of a Go program, or of a language whose lines are not named. It
// returns "" for other programs. file is where the program at path can be read.
func languageHint(path, file string) string {
	for _, l := range languages {
		if l.program.MatchString(filepath.Base(path)) {
			return l.shows
		}
	}
	if program.IsGo(file) {
		return "the memory that C code allocates is seen, the Go heap is not: if the program serves net/http/pprof, " +
			"heaplapse scrape takes its heap profiles"
	}
	return ""
}

// runsPython reports whether the program is CPython.
func (p *Plan) runsPython() bool {
	return strings.HasPrefix(filepath.Base(p.Target.Exe), "python") || strings.HasPrefix(filepath.Base(p.Target.Path), "python")
}

// runtimeHints returns options that show more of the memory of a language runtime.
func (p *Plan) runtimeHints() []string {
	base := filepath.Base(p.Target.Exe)
	if hint := languageHint(p.Target.Exe, p.Target.Exe); hint != "" {
		if base == "java" && !p.JIT && p.engine.seesGenerated() {
			hint += "; use " + option.JIT + " to see the names of Java methods (of Java 17 and later)"
		}
		if program.Getenv(p.Env, "USE_ZEND_ALLOC") == "0" {
			hint = strings.TrimSuffix(hint, phpBlocks)
		}
		return []string{hint}
	}
	switch {
	case p.runsPython():
		if !p.engine.seesPython() && !p.PythonMalloc && program.Getenv(p.Env, "PYTHONMALLOC") == "" {
			return []string{"no lines of Python are named, and its objects of up to 512 bytes are not seen: the built-in " +
				"engine does both (without " + option.Engine + ")"}
		}
	case base == "node" || base == "nodejs":
		options := strings.Join(p.Command, " ") + program.Getenv(p.Env, "NODE_OPTIONS")
		if !p.engine.seesGenerated() {
			return []string{p.Engine + " shows no JavaScript functions; the built-in engine and tcmalloc do" +
				", with " + option.JIT}
		}
		if !p.JIT && !strings.Contains(options, "--perf-basic-prof") {
			return []string{"use " + option.JIT + " to see the names of JavaScript functions"}
		}
	}
	return nil
}
