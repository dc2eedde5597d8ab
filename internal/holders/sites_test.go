//go:build linux && amd64

package holders

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/names"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// site is what a program says of one of its blocks.
type site struct {
	kind             Kind
	name, typ, steps string
	address          uint64
}

// sites runs a program until it is ready.
func sites(t *testing.T, program string) (pid int, list []site) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "ready" {
		f := strings.Split(lines.Text(), "\t")
		require.Len(t, f, 5, lines.Text())
		address, err := strconv.ParseUint(strings.TrimPrefix(f[4], "0x"), 16, 64)
		require.NoError(t, err)
		list = append(list, site{Kind(f[0]), f[1], f[2], f[3], address})
	}
	require.NotEmpty(t, list)
	return cmd.Process.Pid, list
}

// describe writes steps: what refers to an object, its type, its length, and how many like it were left out.
func describe(steps []names.Step) string {
	var list []string
	for _, s := range steps {
		text := s.Via + " " + s.Type
		if s.Length >= 0 {
			text += fmt.Sprintf(" (%d)", s.Length)
		}
		if s.Links > 0 {
			text += fmt.Sprintf(" +%d", s.Links)
		}
		list = append(list, text)
	}
	return strings.Join(list, "|")
}

// TestSites names the holders of blocks in many places of a program, as several compilers build it.
func TestSites(t *testing.T) {
	for _, build := range []struct {
		compiler string
		flags    []string
	}{
		{"g++", []string{"-O0", "-g"}}, {"g++", []string{"-O2", "-g"}}, {"g++", []string{"-O1", "-gdwarf-4", "-fdebug-types-section"}},
	} {
		t.Run(build.compiler+" "+strings.Join(build.flags, " "), func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "sites")
			args := append([]string{"-std=c++17", "-pthread", "-o", program, "testdata/sites.cc"}, build.flags...)
			out, err := exec.Command(testutil.Need(t, build.compiler), args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			pid, list := sites(t, program)
			l, err := Take(pid, Options{})
			require.NoError(t, err)
			defer l.Close()
			assert.Empty(t, l.Doubts)
			var addresses []uint64
			for _, s := range list {
				addresses = append(addresses, s.address)
			}
			got, err := l.Holders(t.Context(), addresses)
			require.NoError(t, err)
			for i, want := range list {
				h := got[i]
				assert.Equal(t, want.kind, h.Kind, want)
				if want.kind != Global {
					continue
				}
				assert.Equal(t, want.name, h.Name, want.steps)
				if h.Variable != nil {
					assert.Equal(t, want.typ, h.Variable.Type, "%s", want.name)
				}
				assert.Equal(t, want.steps, describe(h.Steps), "%s %s", want.name, want.typ)
			}
		})
	}
}
