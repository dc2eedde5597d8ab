//go:build linux

package proc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	exe, other := filepath.Join(dir, "bin", "check"), filepath.Join(dir, "other")
	for _, d := range []string{filepath.Dir(exe), other} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	require.NoError(t, os.WriteFile(exe, nil, 0o600))
	require.NoError(t, os.Symlink("check", filepath.Join(dir, "bin", "server")))
	require.NoError(t, os.Symlink("../bin/server", filepath.Join(other, "service")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "copy"), nil, 0o600))
	for command, want := range map[string]string{
		filepath.Join(dir, "bin", "server"): "bin/server",
		"server":                            "bin/server",
		"server *:6379":                     "bin/server", // a title
		"service":                           "other/service",
		"check":                             "",
		"copy":                              "",
		"worker: idle":                      "",
		"bin/server":                        "", // relative to a directory that is not known
		"":                                  "",
		" ":                                 "",
	} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		require.Equal(t, want, Link(Info{Exe: exe, Command: []string{command}}, []string{other}), "%q", command)
	}
	require.Empty(t, Link(Info{Exe: exe}, nil))
}
