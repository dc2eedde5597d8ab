package debuginfod

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestFullDisk: a download does not fill the disk.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("tmpfs cannot be mounted here: %v", err)
	}
	defer func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
	url, _ := server(t, has(map[string][]byte{"/buildid/" + wantedID + "/debuginfo": elfFile(t, wantedID, 1<<20)}))
	c := &Client{URLs: []string{url}, Dir: dir}
	require.False(t, finds(t, c))
	require.Len(t, c.Warnings(), 1)
	require.ErrorIs(t, c.Warnings()[0], errNoSpace)
}
