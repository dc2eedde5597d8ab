//go:build linux

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// The unwinder finds the stacks that libgcc's finds, in programs of several languages. Where the
// functions of an unloaded library were, others are loaded.
func TestUnwinder(t *testing.T) {
	stacks := linkSources(t, "stacks", "testdata/stacks.c", "-pthread")
	plugin := linkSources(t, "plugin.so", "-shared", "testdata/library.c")
	other := linkSources(t, "other.so", "-shared", "testdata/library.c", "-DVARIANT=5")
	programs := [][]string{
		{stacks, plugin, other},
		{testutil.Need(t, "python3"), "-c", "import json; json.dumps([list(range(100))] * 20)"},
		{testutil.Need(t, "perl"), "-e", "for (1..5000) { push @a, [1..5]; $h{$_} = [$_] }"},
		{testutil.Need(t, "node"), "-e", "0"},
		// It allocates some hundred times per file.
		append([]string{testutil.Need(t, "readelf"), "-aW"},
			slices.Repeat([]string{testutil.Data(t, "leaky/sysroot/opt/leaky/bin/leaky")}, 10)...),
	}
	// Without _dl_find_object, as in glibc before 2.35 and in musl.
	const old = "-D_dl_find_object=hl_no_such_function"
	for _, define := range []string{"-DCURRENT", old} {
		checker := linkSources(t, "check.so", unwinder(t, "testdata/unwindcheck.c",
			"-shared", "-fvisibility=hidden", "-lgcc_s", define)...)
		for _, program := range programs {
			t.Run(filepath.Base(program[0])+define, func(t *testing.T) {
				t.Parallel()
				compareStacks(t, checker, program)
			})
		}
	}
}

func compareStacks(t *testing.T, checker string, program []string) {
	most, every := 1500, 3
	if testutil.Full() {
		most, every = 20000, 1
	}
	output := filepath.Join(t.TempDir(), "result")
	runProgram(t, []string{
		"LD_PRELOAD=" + checker, "CHECK_OUTPUT=" + output,
		fmt.Sprint("CHECK_EVERY=", every), fmt.Sprint("CHECK_STACKS=", most),
	}, program[0], program[1:]...)
	text, err := os.ReadFile(output)
	require.NoError(t, err)
	var seen, frames, different int
	_, err = fmt.Sscanf(string(text), "%d stacks %d frames %d different", &seen, &frames, &different)
	require.NoError(t, err, string(text))
	require.Greater(t, seen, 50)
	require.Greater(t, frames, 5*seen)
	require.Zero(t, different, string(text))
	t.Log(strings.SplitN(string(text), "\n", 2)[0])
}

// Damaged call frame information neither crashes the unwinder nor makes it run forever.
func TestHostileFrames(t *testing.T) {
	rounds := "1000"
	if testutil.Full() {
		rounds = "500000"
	}
	library := linkSources(t, "library.so", "-shared", "testdata/library.c")
	program := linkSources(t, "hostile", unwinder(t, "testdata/hostile.c",
		"-fsanitize=undefined", "-fno-sanitize=alignment", "-fno-sanitize-recover")...)
	t.Log(runProgram(t, nil, program, library, rounds))
}

// A stack of a few frames that was walked just before is walked again without its tables, but for
// the frames that the unwinder does not remember, such as the outermost one. Which these are does
// not depend on where the stack begins: the layout of a process is drawn at random.
func TestRepeatedWalks(t *testing.T) {
	program := linkSources(t, "repeated", unwinder(t, "testdata/repeated.c", "-Wl,--wrap=hl_cfi_step")...)
	var least, most int
	_, err := fmt.Sscan(runProgram(t, nil, program), &least, &most)
	require.NoError(t, err)
	require.Equal(t, least, most)
	require.Less(t, most, 5, "of two dozen")
}
