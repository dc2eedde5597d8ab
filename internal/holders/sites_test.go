//go:build linux && amd64

package holders

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/names"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// site is what a program says of one of its blocks.
type site struct {
	kind             answer.Kind
	name, typ, steps string
	address          uint64
}

// sites runs a program until it is ready.
func sites(t *testing.T, program string) (pid int, list []site) {
	t.Helper()
	cmd := exec.Command(program)
	for _, line := range testutil.Ready(t, cmd) {
		f := strings.Split(line, "\t")
		require.Len(t, f, 5, line)
		address, err := strconv.ParseUint(strings.TrimPrefix(f[4], "0x"), 16, 64)
		require.NoError(t, err)
		list = append(list, site{answer.Kind(f[0]), f[1], f[2], f[3], address})
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

// TestSites names the holders of blocks in many places of a program, as several compilers build it, and without debug
// information and symbols.
func TestSites(t *testing.T) {
	for _, build := range []struct {
		compiler string
		flags    []string
		strip    []string
	}{
		{"g++", []string{"-O0", "-g"}, nil},
		{"g++", []string{"-O2", "-g"}, []string{"--strip-debug", "--strip-all"}},
		{"g++", []string{"-O1", "-gdwarf-4", "-fdebug-types-section"}, nil},
		{"clang++", []string{"-O1", "-g"}, nil},
	} {
		t.Run(build.compiler+" "+strings.Join(build.flags, " "), func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "sites")
			args := append([]string{"-std=c++17", "-pthread", "-o", program, "testdata/sites.cc"}, build.flags...)
			run(t, build.compiler, args...)
			checkSites(t, program, true)
			for _, strip := range build.strip {
				stripped := filepath.Join(t.TempDir(), "sites")
				run(t, "strip", strip, "-o", stripped, program)
				checkSites(t, stripped, false)
			}
		})
	}
}

func run(t *testing.T, program string, args ...string) {
	t.Helper()
	out, err := exec.Command(testutil.Need(t, program), args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestSitesOfJemalloc has the blocks of jemalloc: of the library of this machine, and of those in the environment
// variable HEAPLAPSE_JEMALLOCS, separated by colons.
func TestSitesOfJemalloc(t *testing.T) {
	libraries := []string{testutil.NeedFile(t, "/usr/lib/*/libjemalloc.so.2")}
	if more := os.Getenv("HEAPLAPSE_JEMALLOCS"); more != "" {
		libraries = append(libraries, strings.Split(more, ":")...)
	}
	program := filepath.Join(t.TempDir(), "sites")
	run(t, "g++", "-std=c++17", "-pthread", "-O1", "-g", "-o", program, "testdata/sites.cc")
	for _, library := range libraries {
		t.Run(strings.ReplaceAll(library, "/", " "), func(t *testing.T) {
			t.Setenv("LD_PRELOAD", library)
			checkSites(t, program, true)
		})
	}
}

// TestPrefixedJemalloc has jemalloc in the program, under other names, beside malloc of the C library, as programs in
// Rust have it.
func TestPrefixedJemalloc(t *testing.T) {
	archive := testutil.NeedFile(t, "/usr/lib/*/libjemalloc.a")
	renamed, program := filepath.Join(t.TempDir(), "libjemalloc.a"), filepath.Join(t.TempDir(), "prefixed")
	args := []string{archive, renamed}
	const names = "malloc calloc realloc free posix_memalign aligned_alloc memalign valloc malloc_usable_size"
	for name := range strings.FieldsSeq(names) {
		args = append(args, "--redefine-sym", name+"=je_"+name)
	}
	run(t, "objcopy", args...)
	run(t, "gcc", "-O1", "-g", "-o", program, "testdata/prefixed.c", renamed, "-lm", "-lpthread", "-ldl", "-lstdc++")
	checkSites(t, program, true)
}

// TestRustSites does the same for Rust.
func TestRustSites(t *testing.T) {
	needRust(t)
	for _, flags := range [][]string{{"-g"}, {"-g", "-O"}, {"-O"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "sites")
			args := append([]string{"--edition", "2021", "-o", program, "testdata/sites.rs"}, flags...)
			run(t, "rustc", args...)
			checkSites(t, program, flags[0] == "-g")
		})
	}
}

// needRust skips a test with a compiler that lacks what the program uses.
func needRust(t *testing.T) {
	t.Helper()
	const least = 80
	out, err := exec.Command(testutil.Need(t, "rustc"), "--version").Output()
	require.NoError(t, err)
	var minor int
	_, err = fmt.Sscanf(string(out), "rustc 1.%d", &minor)
	require.NoError(t, err, "%s", out)
	if minor < least {
		t.Skipf("the program needs Rust 1.%d: this is %s", least, strings.TrimSpace(string(out)))
	}
}

// checkSites compares what is found of a program with what it says. Without debug information, members and types are
// not known, and without symbols no names.
func checkSites(t *testing.T, program string, debug bool) {
	t.Helper()
	pid, list := sites(t, program)
	l, err := take(pid, Options{})
	require.NoError(t, err)
	defer l.Close()
	assert.Empty(t, l.Doubts)
	var addresses []uint64
	for _, s := range list {
		addresses = append(addresses, s.address)
	}
	got, err := l.Holders(t.Context(), addresses)
	require.NoError(t, err)
	right := 0
	for i, want := range list {
		h := got[i]
		if !assert.Equal(t, want.kind, h.Kind, want) {
			continue
		}
		right++
		switch {
		case want.kind == answer.Cycle && debug:
			assert.Equal(t, want.typ, h.answer().Type)
		case h.Variable == nil || want.kind == answer.Stack:
			assert.Equal(t, want.name, h.Name)
			assert.True(t, h.Function == "" && !debug || strings.HasPrefix(h.Function, want.typ), h.Function)
			if !debug {
				checkClasses(t, want, h)
				continue
			}
		case h.Variable.Ref != 0:
			assert.Equal(t, want.name, h.Name, want.steps)
			assert.Equal(t, want.typ, h.Variable.Type, want.name)
		case h.Variable.Name != "":
			assert.True(t, strings.HasPrefix(want.name, h.Name), "%s for %s", h.Name, want.name)
			assert.Empty(t, h.Variable.Type)
			checkClasses(t, want, h)
			continue
		default:
			assert.Regexp(t, `^sites\+0x[0-9a-f]+$`, h.Name)
			checkClasses(t, want, h)
			continue
		}
		assert.Equal(t, want.steps, describe(h.Steps), "%s %s", want.name, want.typ)
	}
	t.Logf("%d of %d are right", right, len(list))
}

// checkClasses checks that the steps have no wrong types: only those of objects that tell their class.
func checkClasses(t *testing.T, want site, h Holder) {
	t.Helper()
	require.NotEmpty(t, h.Steps)
	for _, s := range h.Steps {
		assert.Empty(t, s.Via)
		assert.Contains(t, want.steps, s.Type)
	}
}
