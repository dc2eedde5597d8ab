// Package testutil holds what the tests of several packages share: where the fixtures are, and what
// happens when a tool is missing.
package testutil

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// Full reports whether the long tests run, too (make test-full sets HEAPLAPSE_FULL=1).
func Full() bool { return os.Getenv("HEAPLAPSE_FULL") == "1" }

// CI reports whether the tests run in CI, where every tool must be installed.
func CI() bool { return os.Getenv("CI") == "true" }

// Missing ends a test that needs something that is missing: it fails the test in CI and skips it
// elsewhere.
func Missing(t testing.TB, what string) {
	t.Helper()
	const remedy = " is missing: scripts/deps.sh installs it"
	if CI() {
		t.Fatal(what + remedy)
	}
	t.Skip(what + remedy)
}

// Need returns the path of a tool, which is a name in PATH or an absolute path. Without the tool
// the test ends as in [Missing].
func Need(t testing.TB, tool string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		Missing(t, tool)
	}
	return path
}

// Optional returns the path of a tool that scripts/deps.sh does not install. Without the tool the
// test is skipped, in CI too.
func Optional(t testing.TB, tool string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skip(tool + " is missing: it is optional, and scripts/deps.sh does not install it")
	}
	return path
}

// NeedFile returns the first file that matches a pattern, such as a library. Without one the test
// ends as in [Missing].
func NeedFile(t testing.TB, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		Missing(t, pattern)
	}
	return found[0]
}

// Linux skips a test that works on Linux only.
func Linux(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("this test needs Linux")
	}
}

// Stranger is a user that is neither root nor the user of the tests.
const Stranger = 54321

// Superuser skips a test unless it runs as root: it gives files to another user, or mounts a file
// system.
func Superuser(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test needs root")
	}
}

// Foreground makes signals end the programs that the tests start. A shell starts background jobs
// with SIGINT ignored, and children inherit that. A signal that is caught has its default action in
// children.
func Foreground(signals ...os.Signal) {
	for _, s := range signals {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// NoRace skips a long test under the race detector, which makes it ten times slower, where the
// detector has nothing new to see: the code is sequential, the programs are built without the
// detector, or a shorter test runs the same goroutines. `make test` runs the test.
func NoRace(t testing.TB) {
	t.Helper()
	if raceDetector {
		t.Skip("nothing new for the race detector: make test runs this test")
	}
}

// Ready starts a program, returns the lines that it writes before the line "ready", and kills it when the test ends.
func Ready(t testing.TB, cmd *exec.Cmd) (lines []string) {
	t.Helper()
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	scan := bufio.NewScanner(stdout)
	for scan.Scan() {
		if scan.Text() == "ready" {
			return lines
		}
		lines = append(lines, scan.Text())
	}
	t.Fatalf("%s is not ready: %q %v", cmd.Path, lines, scan.Err())
	return nil
}

// WriteFile writes a file, and creates its directory if necessary.
func WriteFile(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// Plain returns the content of a file. It decompresses a .gz file.
func Plain(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err == nil && filepath.Ext(path) == ".gz" {
		content, err = decompress(content)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return content
}

func decompress(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Gzipped returns a text, compressed by gzip.
func Gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Root returns the directory of the module, relative to the working directory of the test.
func Root(t testing.TB) string {
	t.Helper()
	dir := "."
	for range 10 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Join("..", dir)
	}
	t.Fatal("no go.mod above the working directory")
	return ""
}

// Data returns the path of a shared fixture: Data(t, "leaky") is testdata/leaky below the module's
// root. The path is relative, so that outputs that contain it are the same on every machine.
func Data(t testing.TB, elem ...string) string {
	t.Helper()
	return filepath.Join(append([]string{Root(t), "testdata"}, elem...)...)
}
