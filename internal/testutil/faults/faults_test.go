//go:build linux && amd64

package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/internal/testutil/faults"
)

// TestMain is also the launcher, and the program that runs under faults.
func TestMain(m *testing.M) {
	switch os.Args[0] {
	case faults.Command:
		faults.Exec()
	case "copy":
		if err := copyFile(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// copied runs the program that copies a file, and returns its calls and its error.
func copied(t *testing.T, decide func(dir string, c faults.Call) faults.Outcome) (dir string, calls []string, message string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	testutil.WriteFile(t, dir+"/from", "0123456789", 0o600)
	me, err := os.Executable()
	require.NoError(t, err)
	var stderr bytes.Buffer
	run := faults.Run{
		Cmd:  &exec.Cmd{Path: me, Args: []string{"copy", dir + "/from", dir + "/to"}, Stderr: &stderr},
		Dirs: []string{dir},
		Decide: func(c faults.Call) faults.Outcome {
			calls = append(calls, c.Name+" "+filepath.Base(c.Path))
			return decide(dir, c)
		},
	}
	err = run.Do(t.Context(), me)
	if errors.Is(err, errors.ErrUnsupported) && !testutil.CI() {
		t.Skip(err)
	}
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), "%v", err)
	return dir, calls, stderr.String()
}

func TestCallsAreReported(t *testing.T) {
	dir, calls, message := copied(t, func(string, faults.Call) faults.Outcome { return faults.Outcome{} })
	require.Empty(t, message)
	require.Equal(t, []string{
		"open from", "stat from", "read from", "read from", "close from", "open to", "write to", "close to",
	}, calls)
	require.FileExists(t, dir+"/to")
}

func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		at      string
		outcome func(dir string) faults.Outcome
		message string // $D is the directory
		content string
	}{
		"an error":       {"write to", fails(unix.ENOSPC), "write $D/to: no space left on device\n", ""},
		"a failed open":  {"open from", fails(unix.EIO), "open $D/from: input/output error\n", ""},
		"short reads":    {"read from", short, "", "0123456789"},
		"short writes":   {"write to", short, "", "0123456789"},
		"a changed file": {"read from", changes("from", "abc"), "", "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, calls, message := copied(t, func(dir string, call faults.Call) faults.Outcome {
				if call.Name+" "+filepath.Base(call.Path) != c.at {
					return faults.Outcome{}
				}
				return c.outcome(dir)
			})
			require.Contains(t, calls, c.at)
			require.Equal(t, c.message, string(bytes.ReplaceAll([]byte(message), []byte(dir), []byte("$D"))))
			content, err := os.ReadFile(dir + "/to")
			require.True(t, err == nil || c.message != "")
			require.Equal(t, c.content, string(content))
		})
	}
}

func fails(errno unix.Errno) func(string) faults.Outcome {
	return func(string) faults.Outcome { return faults.Outcome{Errno: errno} }
}

func short(string) faults.Outcome { return faults.Outcome{Short: true} }

func changes(name, content string) func(string) faults.Outcome {
	return func(dir string) faults.Outcome {
		return faults.Outcome{Before: func() { _ = os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600) }}
	}
}
