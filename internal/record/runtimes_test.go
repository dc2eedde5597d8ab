//go:build linux

package record

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/program"
)

// TestHintsAtJavaScript: --jit is advised for Node, unless the user has asked for the names of generated
// code. Under an engine that shows no JavaScript the hint is to use another one.
func TestHintsAtJavaScript(t *testing.T) {
	const use, other = "use --jit to see the names of JavaScript functions",
		"jemalloc shows no JavaScript functions; the built-in engine and tcmalloc do, with --jit"
	for _, c := range []struct {
		engine engine
		exe    string
		o      Options
		want   []string
	}{
		{builtin{}, "node", Options{}, []string{use}},
		{tcmalloc{}, "nodejs", Options{Env: []string{"NODE_OPTIONS=--inspect"}}, []string{use}},
		{builtin{}, "node", Options{JIT: true}, nil},
		{tcmalloc{}, "node", Options{Env: []string{"NODE_OPTIONS=--perf-basic-prof"}}, nil},
		{builtin{}, "node", Options{Command: []string{"node", "--perf-basic-prof", "server.js"}}, nil},
		{builtin{}, "nodemon", Options{}, nil},
		{jemalloc{}, "node", Options{}, []string{other}},
		{jemalloc{}, "node", Options{JIT: true}, []string{other}},
		{jemalloc{}, "server", Options{}, nil},
	} {
		p := &Plan{Options: c.o, Engine: c.engine.name(), engine: c.engine}
		p.Target = program.Target{Path: "/usr/bin/" + c.exe, Exe: "/usr/bin/" + c.exe}
		assert.Equal(t, c.want, p.runtimeHints(), "%s %s %v", c.engine.name(), c.exe, c.o)
	}
}

// TestHintsAtLanguages: a recording of a program whose lines are not named, or whose heap is not malloc's,
// says so, and what shows the rest.
func TestHintsAtLanguages(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/lib/jvm/java-17/bin/java": "jcmd",
		"/usr/bin/lua5.4":               "collectgarbage",
		"/usr/bin/luajit-2.1.0":         "collectgarbage",
		"/usr/bin/perl":                 "Devel::MAT",
		"/usr/sbin/php-fpm8.2":          "USE_ZEND_ALLOC=0",
		"/usr/bin/ruby3.1":              "ObjectSpace",
	} {
		assert.Contains(t, languageHint(path, "/nonexistent"), want, path)
	}
	for _, path := range []string{"/usr/bin/python3", "/opt/javaserver", "/usr/bin/phpize", "/bin/perldoc"} {
		assert.Empty(t, languageHint(path, "/nonexistent"), path)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	assert.Contains(t, languageHint("/srv/service", self), "heaplapse scrape", "a test is a Go program")
}
