//go:build linux

package target

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestSymbolsAgreeWithFile compares all symbols of the C library of a process with those that debug/elf
// reads from its file.
func TestSymbolsAgreeWithFile(t *testing.T) {
	cmd := exec.Command(testutil.Need(t, "sleep"), "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var p *Process
	for p == nil || p.Libc == nil {
		var err error
		p, err = Open(cmd.Process.Pid)
		require.NoError(t, err)
	}
	f, err := elf.Open(p.Libc.Path)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	require.NoError(t, err)
	compared := 0
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || s.VersionIndex.IsHidden() || elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		want := Range{p.Libc.Base + s.Value, p.Libc.Base + s.Value + s.Size}
		if compared++; compared%20 == 0 { // each takes some system calls
			assert.Equal(t, want, p.Libc.Symbol(s.Name), s.Name)
		}
	}
	assert.Greater(t, compared, 1000)
	assert.Zero(t, p.Libc.Symbol("no_such_function"))
	assert.Equal(t, filepath.Base(p.Program().Path), "sleep")
}

// TestOwnModules reads this process, whose program may be static.
func TestOwnModules(t *testing.T) {
	p, err := Open(os.Getpid())
	require.NoError(t, err)
	require.NotEmpty(t, p.Modules)
	threads := Threads(os.Getpid())
	require.NotEmpty(t, threads)
	assert.Equal(t, os.Getpid(), threads[0].ID)
}

// FuzzMappings: what is accepted has as many mappings as lines, each of which is not empty.
func FuzzMappings(f *testing.F) {
	f.Add([]byte("7f1c2a000000-7f1c2a021000 rw-p 00000000 08:01 1234    /usr/lib/libc.so.6 (deleted)\n"))
	f.Add([]byte("1-2 r--p 0 0:0 0\n"))
	f.Add([]byte("2-1 r--p 0 0:0 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseMappings(b)
		if err != nil {
			return
		}
		assert.LessOrEqual(t, len(list), strings.Count(string(b), "\n")+1)
		for _, m := range list {
			assert.Less(t, m.Start, m.End)
		}
	})
}
