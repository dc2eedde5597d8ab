//go:build linux && amd64

package holders

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestLocals names the local variables that hold blocks, as several compilers build a program: those of the right frame
// of the right thread, and none that is not in scope. Of a pointer that is in a register, nothing wrong is said.
func TestLocals(t *testing.T) {
	for _, build := range []struct {
		command string
		missing int // variables of which the compiler does not say where they are
	}{
		{"g++ -O0 -g", 0},
		{"g++ -O2 -g", 1},
		{"g++ -O2 -gdwarf-4", 1},
		{"clang++ -O0 -g -fstandalone-debug", 0},
		{"clang++ -O2 -g -fstandalone-debug", 8},
	} {
		t.Run(build.command, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "locals")
			args := append(strings.Fields(build.command), "-std=c++17", "-pthread", "-o", program, "testdata/locals.cc")
			run(t, args[0], args[1:]...)
			checkLocals(t, program, build.missing)
		})
	}
}

// TestRustLocals does the same for Rust.
func TestRustLocals(t *testing.T) {
	needRust(t)
	for _, flags := range [][]string{{"-g"}, {"-g", "-O"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "locals")
			run(t, "rustc", append([]string{"--edition", "2021", "-o", program, "testdata/locals.rs"}, flags...)...)
			checkLocals(t, program, 0)
		})
	}
}

// TestLoadedLater: a thread-local variable of a library that dlopen has loaded holds what it has, in each thread. Its
// memory is a block of the dynamic linker, to which more leads: the list of its destructors.
func TestLoadedLater(t *testing.T) {
	dir := t.TempDir()
	run(t, "g++", "-g", "-O1", "-shared", "-fPIC", "-o", dir+"/later.so", "testdata/later.cc")
	run(t, "g++", "-g", "-O1", "-pthread", "-DPROGRAM", "-o", dir+"/later", "testdata/later.cc")
	t.Chdir(dir)
	printed, got := askAbout(t, "./later", 2)
	require.Len(t, printed, 360)
	for i, want := range printed {
		assert.Equal(t, answer.TLS, got[i].Kind)
		assert.Equal(t, want[0], got[i].Name)
	}
}

// askAbout runs a program, and returns what holds the blocks that it prints: a line each, of fields that tabs separate, of
// which the last is the address.
func askAbout(t *testing.T, program string, fields int) (printed [][]string, got []Holder) {
	t.Helper()
	cmd := exec.Command(program)
	var addresses []uint64
	for _, line := range testutil.Ready(t, cmd) {
		f := strings.Split(line, "\t")
		require.Len(t, f, fields, line)
		address, err := strconv.ParseUint(strings.TrimPrefix(f[fields-1], "0x"), 16, 64)
		require.NoError(t, err)
		printed, addresses = append(printed, f), append(addresses, address)
	}
	l, err := take(cmd.Process.Pid, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() }) // a holder reads it
	got, err = l.Holders(t.Context(), addresses)
	require.NoError(t, err)
	require.NotEmpty(t, got)
	return printed, got
}

// checkLocals compares the holders of the blocks of a program with what it says of them. So many may have no name.
func checkLocals(t *testing.T, program string, missing int) {
	t.Helper()
	list, got := askAbout(t, program, 6)
	for i, want := range list {
		if got[i].Variable == nil && missing > 0 && want[2] != "-" && (got[i].Kind == answer.Stack || want[2] == "passed") {
			missing--
			continue
		}
		checkLocal(t, want, &got[i])
	}
}

// checkLocal checks a holder by the fields of a line.
func checkLocal(t *testing.T, want []string, h *Holder) {
	t.Helper()
	thread, function, variable, typ, steps := want[0], want[1], want[2], want[3], want[4]
	variable, inRegister := strings.CutPrefix(variable, "?")
	if variable == "-" || inRegister && h.Variable == nil {
		assert.Nil(t, h.Variable, "%q %+v", want, h.Variable)
		return
	}
	if !assert.Equal(t, answer.Stack, h.Kind, want) || !assert.NotNil(t, h.Variable, want) {
		return
	}
	assert.Equal(t, thread, h.Name, want)
	assert.Equal(t, function, h.Function, want)
	assert.Equal(t, variable, h.Variable.String(), want)
	assert.Equal(t, typ, h.Variable.Type, want)
	assert.Equal(t, steps, describe(h.Steps), want)
	assert.Contains(t, h.Variable.File, "locals.")
	a := h.answer()
	assert.Equal(t, variable, a.Variable)
	assert.Equal(t, variable == "given", a.Parameter, want)
}

// TestUncleared names what holds blocks whose memory has old addresses of each other. One in a hundred may have another
// name: it may be as near to a wrong variable.
func TestUncleared(t *testing.T) {
	for _, level := range []string{"-O0", "-O1", "-O2"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "uncleared")
			run(t, "g++", "-g", level, "-pthread", "-o", program, "testdata/uncleared.cc")
			printed, got := askAbout(t, program, 2)
			wrong := map[[2]string]int{}
			right := 0
			for i := range got {
				name := string(got[i].Kind)
				if got[i].Variable != nil {
					name = got[i].Variable.String()
				}
				if want := printed[i][0]; name == want {
					right++
				} else {
					wrong[[2]string{want, name}]++
				}
			}
			t.Logf("%d of %d right, wrong: %v", right, len(got), wrong)
			assert.GreaterOrEqual(t, right, len(got)*99/100)
		})
	}
}
