package source

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

const secret = "SECRET"

// tree is a directory with source files, and others around it. It returns the directory around it.
func tree(t *testing.T) (outer string, d *Dir) {
	t.Helper()
	outer, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for path, text := range map[string]string{
		"secret.c": secret, "cwd/local.c": secret,
		"root/inside.c": "one\n\ttwo\r\nthree\nfour\nfive\nsix\n", "root/deep/in/moved.py": "moved\n",
		"root/.config/settings.py": secret, "root/.env.py": secret, "root/passwd": secret, "root/key.pem": secret, "root/settings.json": secret,
		"root/latin.c": "caf\xe9\n", "root/binary.c": "a\x00b\n", "root/large.c": strings.Repeat("x\n", maxSize/2+1),
		"root/wide.c": strings.Repeat("x", 10_000), "root/odd.c": "a\u202eb\x1b[31m</script>\n", "root/key": secret,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(outer, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(outer, path), []byte(text), 0o600))
	}
	root := filepath.Join(outer, "root")
	for link, to := range map[string]string{"link.c": "../secret.c", "alias.c": "key", "up": ".."} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, link)))
	}
	d, err = Open(root)
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	return outer, d
}

// TestAround: a few lines of the file below the directory, also if it was elsewhere at compile time.
func TestAround(t *testing.T) {
	outer, d := tree(t)
	e, ok := d.Around(filepath.Join(outer, "root/inside.c"), 5)
	require.True(t, ok)
	require.Equal(t, 2, e.First)
	require.Equal(t, []string{"    two", "three", "four", "five", "six"}, e.Lines)
	require.WithinDuration(t, time.Now(), e.Modified, time.Minute)
	e, ok = d.Around("/build/1/deep/in/moved.py", 1)
	require.True(t, ok)
	require.Equal(t, Excerpt{First: 1, Lines: []string{"moved"}, Modified: e.Modified}, e)
	e, ok = d.Around("wide.c", 1)
	require.True(t, ok)
	require.LessOrEqual(t, len([]rune(e.Lines[0])), maxLine)
	e, ok = d.Around("odd.c", 1)
	require.True(t, ok)
	require.Equal(t, []string{`a\u202eb\u001b[31m</script>`}, e.Lines)
}

// TestFilesThatAreNotShown: a snapshot may name any file.
func TestFilesThatAreNotShown(t *testing.T) {
	testutil.Linux(t)
	outer, d := tree(t)
	t.Chdir(filepath.Join(outer, "cwd"))
	require.NoError(t, syscall.Mkfifo(filepath.Join(outer, "root/pipe.c"), 0o600))
	for _, name := range []string{
		"/etc/shadow", "/etc/passwd", "/proc/self/environ", filepath.Join(outer, "secret.c"), "../secret.c", filepath.Join(outer, "root/../secret.c"),
		"secret.c", "local.c", "/x/cwd/local.c", "/proc/self/cwd/local.c", "link.c", "alias.c", "up/secret.c", "/\x00/inside.c\x00",
		".config/settings.py", "/home/user/.config/settings.py", ".env.py", "passwd", "key.pem", "settings.json", "key",
		"latin.c", "binary.c", "large.c", "pipe.c", "deep", "", "/", ".c", strings.Repeat("a/", maxPath) + "inside.c",
	} {
		e, ok := d.Around(name, 1)
		require.False(t, ok, "%q: %v", name, e)
		require.Empty(t, e)
	}
	for _, line := range []int{-1, 0, 7, 1 << 40} {
		_, ok := d.Around("inside.c", line)
		require.False(t, ok, line)
	}
}

// TestFilesOfOthers are not shown, unless root owns them.
func TestFilesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	outer, d := tree(t)
	file := filepath.Join(outer, "root/inside.c")
	require.NoError(t, os.Chown(file, 12345, -1))
	_, ok := d.Around(file, 1)
	require.False(t, ok)
}
