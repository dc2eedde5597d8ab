//go:build linux && amd64

package tracer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadState reads what the kernel tells about a thread. That of a thread which was moved to another processor while
// it waited, and of a kernel without the file, is not known.
func TestReadState(t *testing.T) {
	stat := "5 (a) b) S " + strings.Repeat("1 ", 35) + "3 0 0\n" // the processor is field 39
	dir := t.TempDir() + "/"
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	_, ok := readState(dir)
	assert.False(t, ok)
	write("stat", stat)
	_, ok = readState(dir)
	assert.False(t, ok)
	write("sched", "a (5, #threads: 1)\n---\nse.exec_start  :      29282691.320128\nnr_voluntary_switches  :   7\n")
	s, ok := readState(dir)
	assert.True(t, ok)
	assert.Equal(t, state{processor: 3, ran: 29282691320128 * time.Nanosecond, switches: 7}, s)
	for _, start := range []string{"0.000000", "-1.000000", "12", "1.5", "x.000000"} {
		write("sched", "se.exec_start  :  "+start+"\nnr_voluntary_switches  :   7\n")
		_, ok = readState(dir)
		assert.False(t, ok, start)
	}
}
