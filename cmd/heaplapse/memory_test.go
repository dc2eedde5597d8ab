//go:build linux

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// peakOf runs a command and prints its largest resident memory in KiB. That of a child of the test itself
// would include the memory of the test.
const peakOf = `import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)`

// TestMaxMemory: small files that need much memory are an error, and the process takes at most a tenth
// more than the limit.
func TestMaxMemory(t *testing.T) {
	testutil.NoRace(t) // the detector takes memory of its own
	t.Parallel()
	const limit = 100 << 20
	python := testutil.Need(t, "python3")
	for name, write := range map[string]func(w io.Writer){
		"strings.0001.pb.gz": func(w io.Writer) { // the table of strings of a profile
			for range 100 {
				_, _ = w.Write(bytes.Repeat([]byte{0x32, 0}, 1<<20))
			}
		},
		"samples.0001.pb.gz": func(w io.Writer) { // samples of 20,000 frames
			sample := []byte{0x12, 0xa4, 0x9c, 0x01, 0x0a, 0xa0, 0x9c, 0x01}
			sample = append(sample, bytes.Repeat([]byte{1}, 20000)...)
			for range 15000 {
				_, _ = w.Write(sample)
			}
		},
		"rows.0001.heap.gz": func(w io.Writer) { // different stacks
			fmt.Fprint(w, "heap profile: 1: 1 [1: 1] @ heapprofile/1\n")
			for i := range 300_000 {
				fmt.Fprint(w, "1: 10 [1: 10] @")
				for j := range 30 {
					fmt.Fprintf(w, " 0x%x", 0x400000+(i*7919+j*31)%(1<<40))
				}
				fmt.Fprintln(w)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			f, err := os.Create(path)
			require.NoError(t, err)
			z := gzip.NewWriter(f)
			b := bufio.NewWriterSize(z, 1<<20)
			write(b)
			require.NoError(t, b.Flush())
			require.NoError(t, z.Close())
			require.NoError(t, f.Close())
			cmd := exec.Command(python, "-c", peakOf, "heaplapse", "info", "--no-cache", "--max-memory", fmt.Sprint(limit), path)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			assert.Equal(t, 2, exitStatus(err), stderr.String())
			assert.Contains(t, stderr.String(), "needs more than 100 MiB of memory")
			peak, err := strconv.Atoi(strings.TrimSpace(string(out)))
			require.NoError(t, err)
			assert.LessOrEqual(t, peak<<10, limit+limit/10)
		})
	}
}

// exitStatus returns the exit status that an error of a command tells, or -1.
func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}
