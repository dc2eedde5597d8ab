package elffile

import (
	"bytes"
	"os"
	"testing"

	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/stretchr/testify/require"
)

// TestRelease: the content of the file is the same after Release. Release of a closed file does
// nothing.
func TestRelease(t *testing.T) {
	testutil.Linux(t)
	path, err := os.Executable()
	require.NoError(t, err)
	f, err := Open(path)
	require.NoError(t, err)
	text, err := f.Section(".text")
	require.NoError(t, err)
	before := bytes.Clone(text)
	f.Release()
	require.True(t, bytes.Equal(before, text))
	require.NoError(t, f.Close())
	f.Release()
}
