//go:build linux

package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/proc"
)

func TestBuiltinSettings(t *testing.T) {
	e := builtin{}
	filters := fmt.Sprint(proc.Filters(os.Getpid()))
	identity := " main=0000000 program=" + strings.Repeat("0", 32)
	require.Equal(t, []Setting{{
		"HEAPLAPSE_ENGINE",
		"period=131072 every=500 part=250 alloc=0 inuse=0 signal=0 children=1 python=1 mmap=1 filters=" + filters + identity,
	}}, e.settings(&Options{Every: DefaultEvery, Adaptive: true}))
	require.Equal(t, []Setting{{
		"HEAPLAPSE_ENGINE",
		"period=1 every=0 part=0 alloc=1048576 inuse=4096 signal=12 children=2 python=1 mmap=1 filters=" + filters + identity,
	}}, e.settings(&Options{
		EveryAlloc: 1 << 20, EveryInuse: 4096, Signal: "USR2", Scope: All, SamplePeriod: 1,
	}))
	require.ErrorContains(t, e.refuse(&Options{Library: "/lib/x.so"}), "the built-in engine has no library")
}

// TestPythonMallocIsNotNeeded: the user is told so if the engine that was selected does not need it,
// and not because one that does not was tried first.
func TestPythonMallocIsNotNeeded(t *testing.T) {
	library := filepath.Join(t.TempDir(), "lib.so")
	require.NoError(t, os.WriteFile(library, nil, 0o600))
	for e, want := range map[engine][]string{
		builtin{}:  {"--python-malloc is not needed: the built-in engine sees the small objects of CPython"},
		jemalloc{}: nil,
		tcmalloc{}: nil,
	} {
		var notes []string
		p := &Plan{engine: e, Library: Library{Path: library}}
		p.PythonMalloc, p.Note = true, func(s string) { notes = append(notes, s) }
		require.NoError(t, e.refuse(&p.Options))
		require.Empty(t, notes)
		p.configure()
		require.Equal(t, want, notes, e.name())
	}
}
