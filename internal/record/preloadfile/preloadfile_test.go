//go:build linux

package preloadfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

func mkdir(t *testing.T, mode os.FileMode, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.Chmod(dir, mode))
	return dir
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode()
}

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		all       bool
		dir, file os.FileMode
	}{{true, 0o755, 0o644}, {false, 0o700, 0o600}} {
		base := t.TempDir()
		places := []candidate{{base, "own/objects", c.all}}
		path, err := writeTo(places, "lib.so", []byte("object"))
		require.NoError(t, err)
		require.Regexp(t, `^`+base+`/own/objects/lib-[0-9a-f]{12}\.so$`, path)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "object", string(content))
		require.Equal(t, c.file, modeOf(t, path))
		require.Equal(t, os.ModeDir|c.dir, modeOf(t, filepath.Dir(path)))
		require.Equal(t, os.ModeDir|c.dir, modeOf(t, filepath.Join(base, "own")))
		require.NoError(t, Check(path))

		other, err := writeTo(places, "lib.so", []byte("next version"))
		require.NoError(t, err)
		require.NotEqual(t, path, other)
		old := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(path, old, old))
		again, err := writeTo(places, "lib.so", []byte("object"))
		require.NoError(t, err)
		require.Equal(t, path, again)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.True(t, info.ModTime().Equal(old), "an object is written once")
	}
}

// TestWriteIgnoresTheUmask: programs of other users must be able to read what root preloads,
// whatever the umask.
func TestWriteIgnoresTheUmask(t *testing.T) {
	if dir := os.Getenv("PRELOADFILE_DIR"); dir != "" {
		_, err := writeTo([]candidate{{dir, "own", true}}, "lib.so", []byte("object"))
		require.NoError(t, err)
		return
	}
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", `umask 077; exec "$0" -test.run '^TestWriteIgnoresTheUmask$'`, os.Args[0])
	cmd.Env = append(os.Environ(), "PRELOADFILE_DIR="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, os.ModeDir|0o755, modeOf(t, filepath.Join(dir, "own")))
	files, err := filepath.Glob(filepath.Join(dir, "own/lib-*.so"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Equal(t, os.FileMode(0o644), modeOf(t, files[0]))
}

// TestWriteReplacesOtherContent: a file of the right name is used only if it is the object.
func TestWriteReplacesOtherContent(t *testing.T) {
	places := []candidate{{dir: t.TempDir(), own: "own"}}
	path, err := writeTo(places, "lib.so", []byte("object"))
	require.NoError(t, err)
	for name, spoil := range map[string]func() error{
		"other content": func() error { return os.WriteFile(path, []byte("OBJECT"), 0o600) },
		"truncated":     func() error { return os.Truncate(path, 3) },
		"longer":        func() error { return os.WriteFile(path, []byte("object and more"), 0o600) },
		"writable":      func() error { return os.Chmod(path, 0o622) },
		"unreadable":    func() error { return os.Chmod(path, 0o200) },
	} {
		require.NoError(t, spoil(), name)
		again, err := writeTo(places, "lib.so", []byte("object"))
		require.NoError(t, err, name)
		require.Equal(t, path, again, name)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "object", string(content), name)
		require.Equal(t, os.FileMode(0o600), modeOf(t, path), name)
	}
}

func TestWriteRemovesAbandonedFiles(t *testing.T) {
	dir := mkdir(t, 0o700, t.TempDir(), "own")
	for _, name := range []string{".lib.so.heaplapse-tmp1", "lib-1.so"} {
		testutil.WriteFile(t, filepath.Join(dir, name), "", 0o600)
	}
	_, err := writeTo([]candidate{{dir: filepath.Dir(dir), own: "own"}}, "lib.so", []byte("object"))
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(dir, ".lib.so.heaplapse-tmp1"))
	require.FileExists(t, filepath.Join(dir, "lib-1.so"))
}

// TestUnsuitableDirectories: the first suitable directory is used. The error names the reason for
// each that is not.
func TestUnsuitableDirectories(t *testing.T) {
	base := t.TempDir()
	var places []candidate
	var reasons []string
	add := func(dir, reason string) {
		places = append(places, candidate{dir: dir, own: "own"})
		reasons = append(reasons, reason)
	}
	add(mkdir(t, 0o777, base, "open"), "open can be written by other users (mode 0777)")
	add(mkdir(t, 0o775, base, "group"), "group can be written by other users (mode 0775)")
	add(mkdir(t, 0o755, mkdir(t, 0o777, base, "above"), "closed"), "above can be written by other users (mode 0777)")
	sticky := mkdir(t, 0o777|os.ModeSticky, base, "sticky", "own")
	add(filepath.Dir(sticky), "sticky/own can be written by other users (mode 01777)")
	add(filepath.Join(base, "a b"), "own has a character that LD_PRELOAD does not support")
	add(filepath.Join(base, "a:b"), "own has a character that LD_PRELOAD does not support")
	add(filepath.Join(base, "$ORIGIN"), "own has a character that LD_PRELOAD does not support")
	testutil.WriteFile(t, filepath.Join(base, "file"), "", 0o600)
	add(filepath.Join(base, "file"), "file/own: not a directory")
	require.NoError(t, os.Symlink("loop", filepath.Join(base, "loop")))
	add(filepath.Join(base, "loop"), "loop/own: too many levels of symbolic links")
	require.NoError(t, os.Symlink("open", filepath.Join(base, "link")))
	add(filepath.Join(base, "link"), "open can be written by other users (mode 0777)")
	add("/proc", "/proc/own: ")

	path, err := writeTo(append(places, candidate{dir: base, own: "last"}), "lib.so", []byte("object"))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(base, "last"), filepath.Dir(path))

	_, err = writeTo(places, "lib.so", []byte("object"))
	require.ErrorContains(t, err, "set XDG_CACHE_HOME to a directory that no other user can write to")
	for i, reason := range reasons {
		require.ErrorContains(t, err, reason)
		_, err := writeTo(places[i:i+1], "lib.so", []byte("object"))
		require.ErrorContains(t, err, reason)
	}
}

// TestSharedDirectories: with the sticky bit, only the owner of an entry can replace it.
func TestSharedDirectories(t *testing.T) {
	shared := mkdir(t, 0o777|os.ModeSticky, t.TempDir(), "tmp")
	path, err := writeTo([]candidate{{dir: shared, own: "mine"}}, "lib.so", []byte("object"))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(shared, "mine"), filepath.Dir(path))
	require.Equal(t, os.ModeDir|0o700, modeOf(t, filepath.Dir(path)))
}

// TestLinksAreResolved: LD_PRELOAD gets a path whose directories were all checked.
func TestLinksAreResolved(t *testing.T) {
	base := t.TempDir()
	mkdir(t, 0o755, base, "real", "home")
	mkdir(t, 0o755, base, "short")
	require.NoError(t, os.Symlink("../real/home", filepath.Join(base, "short", "home")))
	require.NoError(t, os.Symlink(filepath.Join(base, "short"), filepath.Join(base, "absolute")))
	places := []candidate{{dir: filepath.Join(base, "absolute", "home"), own: "own"}}
	path, err := writeTo(places, "lib.so", []byte("object"))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(base, "real", "home", "own"), filepath.Dir(path))
}

// TestStrangers: nothing that another user owns is used, also by root.
func TestStrangers(t *testing.T) {
	testutil.Superuser(t)
	base := t.TempDir()
	give := func(path string) { require.NoError(t, os.Lchown(path, testutil.Stranger, testutil.Stranger)) }
	theirs := mkdir(t, 0o755, base, "theirs")
	give(theirs)
	mkdir(t, 0o755, theirs, "inside")
	shared := mkdir(t, 0o777|os.ModeSticky, base, "tmp")
	give(mkdir(t, 0o755, shared, "own"))
	require.NoError(t, os.Symlink(base, filepath.Join(shared, "link")))
	give(filepath.Join(shared, "link"))
	for _, c := range []struct{ dir, reason string }{
		{theirs, "theirs belongs to user 54321"},
		{filepath.Join(theirs, "inside"), "theirs belongs to user 54321"},
		{shared, "tmp/own belongs to user 54321"},
		{filepath.Join(shared, "link"), "tmp/link belongs to user 54321"},
	} {
		_, err := writeTo([]candidate{{dir: c.dir, own: "own"}}, "lib.so", []byte("object"))
		require.ErrorContains(t, err, c.reason)
	}

	own := mkdir(t, 0o755, base, "mine", "own")
	path, err := writeTo([]candidate{{dir: filepath.Dir(own), own: "own"}}, "lib.so", []byte("object"))
	require.NoError(t, err)
	give(path)
	require.ErrorContains(t, Check(path), "belongs to user 54321")
	_, err = writeTo([]candidate{{dir: filepath.Dir(own), own: "own"}}, "lib.so", []byte("object"))
	require.NoError(t, err)
	require.NoError(t, Check(path), "the file was replaced")
}

func TestCheck(t *testing.T) {
	base := t.TempDir()
	file := func(mode os.FileMode, elem ...string) string {
		path := filepath.Join(append([]string{base}, elem...)...)
		testutil.WriteFile(t, path, "", 0o600)
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	good := file(0o644, "lib", "good.so")
	require.NoError(t, Check(good))
	require.NoError(t, os.Symlink("lib/good.so", filepath.Join(base, "link.so")))
	require.NoError(t, Check(filepath.Join(base, "link.so")))
	t.Chdir(base)
	require.NoError(t, Check("lib/good.so"))

	require.ErrorContains(t, Check(file(0o664, "lib", "group.so")), "group.so can be written by other users (mode 0664)")
	require.ErrorContains(t, Check(filepath.Dir(good)), "lib is not a regular file")
	require.ErrorContains(t, Check(filepath.Join(base, "missing.so")), "no such file")
	require.NoError(t, os.Chmod(mkdir(t, 0o755, base, "open"), 0o777))
	inside := file(0o644, "open", "l.so")
	require.ErrorContains(t, Check(inside), "open can be written by other users (mode 0777)")
	require.NoError(t, os.Symlink(good, filepath.Join(base, "open", "link.so")))
	require.ErrorContains(t, Check(filepath.Join(base, "open", "link.so")), "open can be written")
	require.NoError(t, os.Symlink("open/link.so", filepath.Join(base, "first.so")))
	require.ErrorContains(t, Check(filepath.Join(base, "first.so")), "open can be written")
}

// TestNoexec mounts a file system in a mount namespace of its own.
func TestNoexec(t *testing.T) {
	testutil.Superuser(t)
	if dir := os.Getenv("PRELOADFILE_NOEXEC"); dir != "" {
		_, err := writeTo([]candidate{{dir: dir, own: "own"}}, "lib.so", []byte("object"))
		require.ErrorContains(t, err, "own is on a file system that is mounted noexec")
		return
	}
	testutil.Need(t, "unshare")
	dir := t.TempDir()
	script := `mount -t tmpfs -o mode=755,noexec none "$1" && exec "$0" -test.v -test.run '^TestNoexec$'`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", script, os.Args[0], dir)
	cmd.Env = append(os.Environ(), "PRELOADFILE_NOEXEC="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "TestNoexec") {
		t.Skipf("this system does not permit a mount: %s", out)
	}
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS: TestNoexec")
}

// TestPlacesOfThisUser: what is stored can be loaded, and no other user can replace it.
func TestPlacesOfThisUser(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	path, err := Write("heaplapse-test.so", []byte("not an object"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.Remove(path) })
	require.NoError(t, Check(path))
	var st syscall.Stat_t
	require.NoError(t, syscall.Stat(path, &st))
	require.Equal(t, uint32(os.Geteuid()), st.Uid)
	if os.Geteuid() == 0 {
		require.Equal(t, os.FileMode(0o644), modeOf(t, path), "programs that change their user can read it")
	}
}

// TestFind: what root has stored for all users is found, unless it has other content or others can write to it.
func TestFind(t *testing.T) {
	base := t.TempDir()
	c := candidate{base, "own", true}
	_, err := c.find("lib.so", []byte("object"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoDirExists(t, filepath.Join(base, "own"), "nothing is created")
	stored, err := c.write("lib.so", []byte("object"))
	require.NoError(t, err)
	path, err := c.find("lib.so", []byte("object"))
	require.NoError(t, err)
	require.Equal(t, stored, path)
	_, err = c.find("lib.so", []byte("another"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(stored, []byte("changed"), 0o644))
	_, err = c.find("lib.so", []byte("object"))
	require.ErrorIs(t, err, errOther)
	require.NoError(t, os.WriteFile(stored, []byte("object"), 0o644))
	mkdir(t, 0o777, base, "own")
	_, err = c.find("lib.so", []byte("object"))
	require.ErrorContains(t, err, "can be written by other users")
}
