//go:build linux && amd64

package musl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/blocktest"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// compilers returns the paths of musl-gcc to test with: the one of this machine, and those in the environment variable
// HEAPLAPSE_MUSLS, separated by colons.
func compilers(t *testing.T) []string {
	t.Helper()
	list := []string{testutil.Need(t, "musl-gcc")}
	if paths := os.Getenv("HEAPLAPSE_MUSLS"); paths != "" {
		list = append(list, strings.Split(paths, ":")...)
	}
	return list
}

// compile builds testdata/blocks.c.
func compile(t *testing.T, compiler string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "blocks")
	args := []string{"-O1", "-g", "-Wall", "-pthread", "-rdynamic", "-o", program, "testdata/blocks.c"}
	out, err := exec.Command(compiler, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// run runs a program until it is ready.
func run(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, args...)
	require.Empty(t, testutil.Ready(t, cmd))
	return cmd
}

// processOf returns the process of a snapshot, and the address of its symbol.
func processOf(t *testing.T, s *snapshot.Snapshot) (p Process, symbol func(name string) uint64) {
	t.Helper()
	program, err := target.Open(s.PID)
	require.NoError(t, err)
	require.True(t, program.Musl)
	p = ProcessOf(s.Memory, s.Mappings, program.Libc)
	for _, thread := range s.Threads {
		p.ThreadPointers = append(p.ThreadPointers, thread.TLS)
	}
	return p, func(name string) uint64 { return program.Program().Symbol(name).Start }
}

func TestWalkLive(t *testing.T) {
	for _, compiler := range compilers(t) {
		program := compile(t, compiler)
		for _, args := range []string{"300 1 1", "20000 4 2", "20000 9 3", "50000 1 4", "2000 16 5"} {
			t.Run(compiler+" "+args, func(t *testing.T) {
				s := blocktest.Snapshot(t, run(t, program, strings.Fields(args)...))
				p, symbol := processOf(t, s)
				live, freed := blocktest.Truth(t, s.Memory, symbol)
				set := &blocks.Set{}
				r, err := Walk(p, set)
				require.NoError(t, err)
				assert.Empty(t, r.Problems)
				assert.Zero(t, r.Changing)
				assert.Empty(t, law.Differences(set, live, freed))
				t.Logf("%d blocks in use, %d freed, %d groups, %d nested, %d regions", len(live), len(freed), r.Groups, r.Nested,
					len(set.Regions()))
			})
		}
	}
}

// TestWalkBusy looks at threads that are stopped anywhere in malloc and free. Each may have changed a block
// and not its table.
func TestWalkBusy(t *testing.T) {
	const threads, perThread = 4, 2
	program := compile(t, testutil.Need(t, "musl-gcc"))
	cmd := run(t, program, "0", fmt.Sprint(threads), "1", "busy")
	whole := 0
	times := 10
	if testutil.Full() {
		times = 100
	}
	for range times {
		s := blocktest.Snapshot(t, cmd)
		p, symbol := processOf(t, s)
		live, freed := blocktest.Truth(t, s.Memory, symbol)
		set := &blocks.Set{}
		r, err := Walk(p, set)
		require.NoError(t, err)
		wrong := law.Differences(set, live, freed)
		if len(r.Problems) == 0 && r.Changing == 0 {
			whole++
			assert.LessOrEqual(t, len(wrong), threads*perThread, "%v", wrong)
		}
		t.Logf("%d wrong, %v, %d changing", len(wrong), r.Problems, r.Changing)
		require.NoError(t, s.Close())
	}
	assert.Greater(t, whole, times/2)
}

// TestRecordImages writes the images of testdata again, one for each version: go test -run RecordImages -update. 1.2.3
// is that of Debian 12; the others were built from the sources of musl by its Makefile.
func TestRecordImages(t *testing.T) {
	if !*update {
		t.Skip("set -update to write the images")
	}
	for _, compiler := range compilers(t) {
		s := blocktest.Snapshot(t, run(t, compile(t, compiler), "150", "2", "1"))
		p, symbol := processOf(t, s)
		live, freed := blocktest.Truth(t, s.Memory, symbol)
		r := recording{Data: p.Data, Writable: p.Writable, Pointers: p.ThreadPointers, Live: live, Freed: freed}
		tables := &blocks.Set{} // which the image does not need
		for i := range uint64(2) {
			start, err := s.Memory.Uint64(symbol("threads") + 24*i)
			require.NoError(t, err)
			region, err := blocks.NewRegion(blocks.Range{Start: start, End: start + 16<<16})
			require.NoError(t, err)
			require.NoError(t, tables.Add(region))
		}
		for _, within := range p.Writable {
			for _, gap := range tables.Gaps(within) {
				for _, part := range s.Resident(gap) {
					r.Memory.Add(t, s.Memory, part)
				}
			}
		}
		blocktest.Write(t, filepath.Join("testdata", "musl-"+version(t, s.PID)+".gz"), r)
	}
}

// version returns the version of the C library of a process, which its dynamic linker writes.
func version(t *testing.T, pid int) string {
	t.Helper()
	program, err := target.Open(pid)
	require.NoError(t, err)
	out, _ := exec.Command(program.Libc.Path).CombinedOutput()
	m := regexp.MustCompile(`Version (\d+\.\d+\.\d+)`).FindSubmatch(out)
	require.NotNil(t, m, "%s", out)
	return string(m[1])
}
