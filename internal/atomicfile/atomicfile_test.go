package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// text is content of a few bytes.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// files returns the names in a directory, hidden ones included.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestWrite(t *testing.T) {
	for _, o := range []atomicfile.Options{{}, {Sync: true}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "result")
		require.NoError(t, atomicfile.Write(path, o, text("one")))
		require.NoError(t, atomicfile.Write(path, o, text("two")))
		require.Equal(t, "two", content(t, path))
		require.Equal(t, []string{"result"}, files(t, dir))
	}
}

func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "result")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	failure := errors.New("no more numbers")
	err := atomicfile.Write(path, atomicfile.Options{}, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of the new")
		return failure
	})
	require.ErrorIs(t, err, failure)
	require.Equal(t, failure.Error(), err.Error())
	require.Equal(t, "old", content(t, path))
	require.Equal(t, []string{"result"}, files(t, dir))
}

// TestModes sets the umask in a process of its own: it belongs to the whole process.
func TestModes(t *testing.T) {
	if dir := os.Getenv("ATOMICFILE_DIR"); dir != "" {
		writeModes(t, dir)
		return
	}
	for umask, want := range map[string]string{"0022": "-rw-r--r--", "0077": "-rw-------", "0002": "-rw-rw-r--"} {
		dir := t.TempDir()
		cmd := exec.Command("sh", "-c", `umask "$0"; exec "$1" -test.run '^TestModes$'`, umask, os.Args[0])
		cmd.Env = append(os.Environ(), "ATOMICFILE_DIR="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		for name, mode := range map[string]string{"new": want, "private": "-rw-------", "open": "-rw-rw-rw-", "program": "-rwxr-xr-x"} {
			info, err := os.Stat(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode().String(), "umask %s, file %s", umask, name)
			require.Equal(t, "new", content(t, filepath.Join(dir, name)))
		}
	}
}

func writeModes(t *testing.T, dir string) {
	for name, mode := range map[string]fs.FileMode{"private": 0o600, "open": 0o666} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
		require.NoError(t, os.Chmod(path, mode))
	}
	for _, name := range []string{"new", "private", "open"} {
		require.NoError(t, atomicfile.Write(filepath.Join(dir, name), atomicfile.Options{}, text("new")))
	}
	require.NoError(t, atomicfile.Write(filepath.Join(dir, "program"), atomicfile.Options{Mode: 0o755}, text("new")))
}

func TestLinksStay(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "real", "deep"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join("real", "deep"), filepath.Join(dir, "short")))
	require.NoError(t, os.Symlink(filepath.Join("..", "result"), filepath.Join(dir, "real", "deep", "latest")))
	link := filepath.Join(dir, "short", "latest") // leads to real/result, not to result
	for _, want := range []string{"first", "second"} {
		require.NoError(t, atomicfile.Write(link, atomicfile.Options{}, text(want)))
		require.Equal(t, want, content(t, filepath.Join(dir, "real", "result")))
		require.Equal(t, want, content(t, link))
		info, err := os.Lstat(link)
		require.NoError(t, err)
		require.Equal(t, fs.ModeSymlink, info.Mode().Type())
	}
	require.Equal(t, []string{"deep", "result"}, files(t, filepath.Join(dir, "real")))
}

// TestReplace: another user can make a link or a pipe of the name.
func TestReplace(t *testing.T) {
	testutil.Linux(t)
	dir := t.TempDir()
	secret, link, fifo := filepath.Join(dir, "secret"), filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(secret, link))
	require.NoError(t, exec.Command("mkfifo", fifo).Run())
	for _, path := range []string{link, fifo} {
		require.NoError(t, atomicfile.Write(path, atomicfile.Options{Replace: true, Mode: 0o640}, text("new")))
		info, err := os.Lstat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o640), info.Mode())
		require.Equal(t, "new", content(t, path))
	}
	require.Equal(t, "secret", content(t, secret))
}

func TestTarget(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("real", 0o755))
	require.NoError(t, os.Symlink("real", "short"))
	require.NoError(t, os.Symlink("real/result", "latest"))
	for _, path := range []string{"real/result", "./real/../real/result", "short/result", "latest", filepath.Join(dir, "short", "result")} {
		require.Equal(t, filepath.Join(dir, "real", "result"), atomicfile.Target(path), path)
	}
	require.Equal(t, filepath.Join(dir, "absent", "result"), atomicfile.Target("absent/result"))
}

func TestLinkToItself(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink("loop", loop))
	require.NoError(t, atomicfile.Write(loop, atomicfile.Options{}, text("new")), "rename replaces the link")
	require.Equal(t, "new", content(t, loop))
}

func TestDevicesAndPipesAreWrittenTo(t *testing.T) {
	testutil.Linux(t)
	require.NoError(t, atomicfile.Write("/dev/null", atomicfile.Options{}, text("x")))
	err := atomicfile.Write("/dev/full", atomicfile.Options{}, text("x"))
	require.ErrorContains(t, err, "/dev/full: no space left on device")

	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, exec.Command("mkfifo", fifo).Run())
	read := make(chan string)
	go func() {
		b, _ := os.ReadFile(fifo)
		read <- string(b)
	}()
	require.NoError(t, atomicfile.Write(fifo, atomicfile.Options{}, text("through")))
	require.Equal(t, "through", <-read)
}

// TestErrorsNameTheTarget: the user does not know the name of the temporary file.
func TestErrorsNameTheTarget(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "absent", "result")
	require.EqualError(t, atomicfile.Write(path, atomicfile.Options{}, text("x")), "create "+path+": no such file or directory")

	path = filepath.Join(dir, "result")
	require.NoError(t, os.Mkdir(path, 0o755))
	require.ErrorContains(t, atomicfile.Write(path, atomicfile.Options{}, text("x")), path+": is a directory")
}

// TestFullDisk limits the size of files in a process of its own. The function that writes the content
// wraps the error, so that only the writer can name the target.
func TestFullDisk(t *testing.T) {
	testutil.Linux(t)
	if path := os.Getenv("ATOMICFILE_FULL"); path != "" {
		err := atomicfile.Write(path, atomicfile.Options{}, func(w io.Writer) error {
			for range 10_000 {
				if err := text("line\n")(w); err != nil {
					return fmt.Errorf("the table: %w", err)
				}
			}
			return nil
		})
		require.EqualError(t, err, "the table: write "+path+": file too large")
		require.ErrorIs(t, err, syscall.EFBIG)
		return
	}
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", `ulimit -f 8; exec "$0" -test.run '^TestFullDisk$'`, os.Args[0])
	cmd.Env = append(os.Environ(), "ATOMICFILE_FULL="+filepath.Join(dir, "result"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, files(t, dir))
}

// TestPrivateWhileWritten: nobody else can read the new content of a private file, not even while it
// is written.
func TestPrivateWhileWritten(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "private"), nil, 0o600))
	require.NoError(t, atomicfile.Write(filepath.Join(dir, "private"), atomicfile.Options{}, func(io.Writer) error {
		info, err := os.Stat(filepath.Join(dir, files(t, dir)[0]))
		require.NoError(t, err)
		require.Equal(t, "-rw-------", info.Mode().String())
		return nil
	}))
}

// TestAbandonedFiles: the first write to a directory removes the temporary files of dead processes,
// and neither those that are still written nor other files.
func TestAbandonedFiles(t *testing.T) {
	testutil.Linux(t)
	t.Cleanup(atomicfile.Forget)
	dir := t.TempDir()
	for _, name := range []string{
		".result.heaplapse-tmp12", ".other.heaplapse-tmp34", ".notes.tmp56", "x.heaplapse-tmp7",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, ".link.heaplapse-tmp1")))
	kept := []string{".link.heaplapse-tmp1", ".notes.tmp56"}
	require.NoError(t, atomicfile.Write(filepath.Join(dir, "result"), atomicfile.Options{}, func(io.Writer) error {
		during := files(t, dir)
		require.Len(t, during, 4, "the others are removed")
		atomicfile.Forget()
		require.NoError(t, atomicfile.Write(filepath.Join(dir, "second"), atomicfile.Options{}, text("x")))
		require.ElementsMatch(t, append(during, "second"), files(t, dir), "the lock of this one is held")
		return nil
	}))
	require.Equal(t, append(kept, "result", "second", "x.heaplapse-tmp7"), files(t, dir))
}

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "result")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	wrong := errors.New("wrong build ID")
	o := atomicfile.Options{Verify: func(tmp string) error {
		require.NotEqual(t, path, tmp)
		if content(t, tmp) != "good" {
			return wrong
		}
		return nil
	}}
	require.ErrorIs(t, atomicfile.Write(path, o, text("bad")), wrong)
	require.Equal(t, "old", content(t, path))
	require.Equal(t, []string{"result"}, files(t, dir))
	require.NoError(t, atomicfile.Write(path, o, text("good")))
	require.Equal(t, "good", content(t, path))
}

func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("n", 255))
	require.NoError(t, atomicfile.Write(path, atomicfile.Options{}, text("x")))
	require.Equal(t, []string{filepath.Base(path)}, files(t, dir))
}

func TestManyWritersOfOneFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "result")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := atomicfile.Write(path, atomicfile.Options{}, text(strings.Repeat("x", 1000))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, content(t, path), 1000)
	require.Equal(t, []string{"result"}, files(t, dir))
}

// TestRemoveUnfinished: a signal comes while a file is written.
func TestRemoveUnfinished(t *testing.T) {
	t.Cleanup(atomicfile.Resume)
	dir := t.TempDir()
	path := filepath.Join(dir, "result")
	err := atomicfile.Write(path, atomicfile.Options{}, func(w io.Writer) error {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".other.heaplapse-tmp12"), nil, 0o600))
		during := files(t, dir)
		require.Len(t, during, 2)
		require.True(t, atomicfile.IsTemporary(during[1]), during[1])
		atomicfile.RemoveUnfinished()
		require.Equal(t, []string{".other.heaplapse-tmp12"}, files(t, dir), "files of other processes stay")
		return text("x")(w)
	})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, "rename "+path+": no such file or directory", err.Error())
	err = atomicfile.Write(path, atomicfile.Options{}, text("later"))
	require.EqualError(t, err, "create "+path+": the process is being ended by a signal")
	require.Equal(t, []string{".other.heaplapse-tmp12"}, files(t, dir))
	atomicfile.Resume()
	require.NoError(t, atomicfile.Write(path, atomicfile.Options{}, text("again")))
	atomicfile.RemoveUnfinished()
	require.Equal(t, "again", content(t, path), "a finished file stays")
}

// TestAppend: what cannot be added whole is not added.
func TestAppend(t *testing.T) {
	testutil.Linux(t)
	if path := os.Getenv("ATOMICFILE_APPEND"); path != "" {
		require.EqualError(t, atomicfile.Append(path, make([]byte, 10_000)), "write "+path+": file too large")
		return
	}
	path := filepath.Join(t.TempDir(), "summary")
	for _, part := range []string{"# one\n", "# two", "# three\n"} {
		require.NoError(t, atomicfile.Append(path, []byte(part)))
	}
	const want = "# one\n# two\n# three\n"
	require.Equal(t, want, content(t, path))
	cmd := exec.Command("sh", "-c", `ulimit -f 8; exec "$0" -test.run '^TestAppend$'`, os.Args[0])
	cmd.Env = append(os.Environ(), "ATOMICFILE_APPEND="+path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, want, content(t, path))
}

func TestIsTemporary(t *testing.T) {
	for name, want := range map[string]bool{
		".a.heaplapse-tmp1": true, "dir/.a.hlb.heaplapse-tmp4294967295": true, "a.heaplapse-tmp1": false, ".a": false,
		".a.tmp1": false, ".a.heaplapse-tmp": false, ".a.heaplapse-tmpx": false, ".heaplapse-tmp1": false, "": false,
	} {
		require.Equal(t, want, atomicfile.IsTemporary(name), name)
	}
}

func TestTempDir(t *testing.T) {
	testutil.Linux(t)
	t.Cleanup(atomicfile.Resume)
	if os.Getenv("ATOMICFILE_KILLED") != "" { // the process that is killed
		dir, _, err := atomicfile.TempDir()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
		self, err := os.FindProcess(os.Getpid())
		require.NoError(t, err)
		require.NoError(t, self.Kill())
		select {}
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestTempDir$")
	cmd.Env = append(os.Environ(), "ATOMICFILE_KILLED=1")
	require.Error(t, cmd.Run())
	left := files(t, tmp)
	require.Len(t, left, 1)
	require.FileExists(t, filepath.Join(tmp, left[0], "file"))

	first, remove, err := atomicfile.TempDir()
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Base(first)}, files(t, tmp), "that of the killed process is removed")
	info, err := os.Stat(first)
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|0o700, info.Mode())
	require.NoError(t, os.WriteFile(filepath.Join(first, "file"), nil, 0o600))
	remove()
	require.Empty(t, files(t, tmp))

	_, _, err = atomicfile.TempDir()
	require.NoError(t, err)
	atomicfile.RemoveUnfinished()
	require.Empty(t, files(t, tmp))
	_, _, err = atomicfile.TempDir()
	require.ErrorContains(t, err, "the process is being ended by a signal")
}

// TestTempDirsOfOthers: a directory that another process uses stays, and so does one of another
// user.
func TestTempDirsOfOthers(t *testing.T) {
	testutil.Linux(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	used, theirs := filepath.Join(tmp, ".heaplapse.tmp1"), filepath.Join(tmp, ".heaplapse.tmp2")
	want := []string{filepath.Base(used)}
	require.NoError(t, os.Mkdir(used, 0o700))
	locked := exec.Command(testutil.Need(t, "flock"), used, "sh", "-c", "echo; exec cat")
	in, err := locked.StdinPipe()
	require.NoError(t, err)
	out, err := locked.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, locked.Start())
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	if os.Geteuid() == 0 {
		require.NoError(t, os.Mkdir(theirs, 0o700))
		require.NoError(t, os.Chown(theirs, testutil.Stranger, testutil.Stranger))
		want = append(want, filepath.Base(theirs))
	}
	_, remove, err := atomicfile.TempDir()
	require.NoError(t, err)
	remove()
	require.Equal(t, want, files(t, tmp))
	require.NoError(t, in.Close())
	require.NoError(t, locked.Wait())
}
