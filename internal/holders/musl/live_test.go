//go:build linux && amd64

package musl

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return cmd
}

// look takes a snapshot of a program that is ready.
func look(t *testing.T, cmd *exec.Cmd) *snapshot.Snapshot {
	t.Helper()
	s, err := snapshot.Take(cmd.Process.Pid, snapshot.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
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

// readTruth reads the table of the program. Only the newest entry of an address counts.
func readTruth(t *testing.T, m target.Memory, symbol func(string) uint64) (live, freed []entry) {
	t.Helper()
	word := func(address uint64) uint64 {
		v, err := m.Uint64(address)
		require.NoError(t, err)
		return v
	}
	size := map[uint64]uint64{}
	for i := range word(symbol("thread_count")) {
		thread := symbol("threads") + 24*i
		b := make([]byte, 16*word(thread+8))
		require.NoError(t, m.Read(word(thread), b))
		for ; len(b) > 0; b = b[16:] {
			// Another thread may have used the address again: then it is in use.
			address, n := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			size[address] = max(size[address], n)
		}
	}
	for address, n := range size {
		if n != 0 {
			live = append(live, entry{address, n})
		} else {
			freed = append(freed, entry{address, 0})
		}
	}
	return live, freed
}

func TestWalkLive(t *testing.T) {
	for _, compiler := range compilers(t) {
		program := compile(t, compiler)
		for _, args := range []string{"300 1 1", "20000 4 2", "20000 9 3", "50000 1 4", "2000 16 5"} {
			t.Run(compiler+" "+args, func(t *testing.T) {
				s := look(t, run(t, program, strings.Fields(args)...))
				p, symbol := processOf(t, s)
				live, freed := readTruth(t, s.Memory, symbol)
				set := &blocks.Set{}
				r, err := Walk(p, set)
				require.NoError(t, err)
				assert.Empty(t, r.Problems)
				assert.Zero(t, r.Changing)
				assert.Empty(t, check(set, live, freed))
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
		s := look(t, cmd)
		p, symbol := processOf(t, s)
		live, freed := readTruth(t, s.Memory, symbol)
		set := &blocks.Set{}
		r, err := Walk(p, set)
		require.NoError(t, err)
		wrong := check(set, live, freed)
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
		s := look(t, run(t, compile(t, compiler), "150", "2", "1"))
		p, symbol := processOf(t, s)
		live, freed := readTruth(t, s.Memory, symbol)
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
				r.add(t, s.Memory, s.Resident(gap))
			}
		}
		r.write(t, filepath.Join("testdata", "musl-"+version(t, s.PID)+".gz"))
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
