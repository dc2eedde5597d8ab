package elffile

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRelease: what was given back is read again, and a closed file may be released.
func TestRelease(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	f, err := Open(path)
	if err != nil {
		t.Skip("this system's programs are no ELF files: ", err)
	}
	text, err := f.Section(".text")
	require.NoError(t, err)
	before := bytes.Clone(text)
	f.Release()
	require.True(t, bytes.Equal(before, text))
	require.NoError(t, f.Close())
	f.Release()
}
