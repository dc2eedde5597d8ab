package flagset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBaselinesOfAWord: WORD=PATH is a path only if there is one.
func TestBaselinesOfAWord(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("night=1", 0o700))
	var b Baselines
	for _, path := range []string{"set", "night=1", "night=*", "./night=2", filepath.Join("a", "b=c"), "pinned=v1"} {
		require.NoError(t, b.Value().Set(path), path)
	}
	require.Equal(t, []string{"set", "night=1", "night=*", "./night=2", "a/b=c"}, b.Paths)
	require.Equal(t, "v1", b.Pinned)
	for _, path := range []string{"pined=v1", "Pinned=v1", "pinned =v1", "night=2", "week=*", ""} {
		require.Error(t, b.Value().Set(path), path)
	}
}
