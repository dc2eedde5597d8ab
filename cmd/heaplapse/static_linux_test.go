package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestTheProgramIsOneFile: without cgo, which is how releases are built, it needs no library. With cgo,
// it needs the C library and no other.
//
// Package net is written in C in part if cgo is enabled and the tag netgo is not set (net/cgo_unix_cgo.go),
// and imports runtime/cgo then, which needs the C library. A module cannot set a tag: go.mod has none, and
// a go:debug line chooses the resolver only when the program runs.
func TestTheProgramIsOneFile(t *testing.T) {
	testutil.NoRace(t)
	testutil.Need(t, "gcc")
	for cgo, want := range map[string][]string{"0": nil, "1": {"libc.so.6"}} {
		program := filepath.Join(t.TempDir(), "heaplapse")
		cmd := exec.Command("go", "build", "-o", program, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo, "GOFLAGS=")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		f, err := elf.Open(program)
		require.NoError(t, err)
		defer f.Close()
		libraries, err := f.ImportedLibraries()
		require.NoError(t, err)
		require.Equal(t, want, libraries, "CGO_ENABLED=%s", cgo)
	}
}
