//go:build linux && amd64

package holders

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// muslGCC returns musl-gcc, or what the environment variable HEAPLAPSE_MUSL_GCC names.
func muslGCC(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("HEAPLAPSE_MUSL_GCC"); path != "" {
		return path
	}
	return testutil.Need(t, "musl-gcc")
}

// startMusl runs testdata/held.c on musl until it is ready, and returns what it wrote.
func startMusl(t *testing.T, flags ...string) (pid int, list []truth) {
	t.Helper()
	dir := t.TempDir()
	compile := func(flags ...string) {
		out, err := exec.Command(muslGCC(t), append([]string{"-Wall", "-pthread"}, flags...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	compile("-shared", "-fPIC", "-o", dir+"/loaded.so", "testdata/loaded.c")
	compile(append([]string{"-rdynamic", "-o", dir + "/held", "testdata/held.c"}, flags...)...)
	return startTruthful(t, dir+"/held", dir+"/loaded.so")
}

// TestMusl compares what holds the blocks of a program on musl with what the program says.
func TestMusl(t *testing.T) {
	for _, flags := range [][]string{{"-O0", "-g"}, {"-O2", "-g", "-DLARGE"}, {"-O2", "-g", "-no-pie"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			pid, list := startMusl(t, flags...)
			l, err := take(pid, Options{})
			require.NoError(t, err)
			defer l.Close()
			assert.Empty(t, l.Doubts)
			addresses := make([]uint64, len(list))
			for i, h := range list {
				addresses[i] = h.address
			}
			got, err := l.Holders(t.Context(), addresses)
			require.NoError(t, err)
			right, all := map[answer.Kind]int{}, map[answer.Kind]int{}
			for i, want := range list {
				all[want.kind]++
				if got[i].Kind == want.kind {
					right[want.kind]++
				}
				checkMusl(t, want, got[i])
			}
			// The last addresses that were written may still be in registers and on the stack.
			assert.Equal(t, 1004, all[answer.Global])
			assert.Equal(t, 12, all[answer.TLS])
			assert.GreaterOrEqual(t, right[answer.Lost], 194)
			assert.GreaterOrEqual(t, right[answer.Cycle], 97)
			t.Logf("right %v of %v, stopped for %v", right, all, l.Stopped())
		})
	}
}

// checkMusl compares one answer.
func checkMusl(t *testing.T, want truth, got Holder) {
	t.Helper()
	if want.kind == answer.Lost || want.kind == answer.Cycle {
		return
	}
	assert.Equal(t, want.kind, got.Kind, "%s %#x", want.name, want.address)
	require.NotEmpty(t, got.Blocks)
	assert.True(t, got.Blocks[len(got.Blocks)-1].Contains(want.address))
	switch {
	case want.name == "-":
	case want.kind == answer.Stack:
		assert.Equal(t, "worker", got.Name)
		assert.Contains(t, got.Function, want.name)
	case assert.NotNil(t, got.Variable, "%+v %+v", want, got):
		assert.Equal(t, want.name, got.Variable.Name)
		assert.Equal(t, "held.c", filepath.Base(got.Variable.File))
	}
}
