package pprofui

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// naming returns a profile with one function for each source file.
func naming(files []string) *profile.Profile {
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x9000, File: "/etc/shadow", HasFunctions: true, HasFilenames: true, HasLineNumbers: true}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}, Mapping: []*profile.Mapping{m}}
	for i, file := range files {
		f := &profile.Function{ID: uint64(i + 1), Name: "function" + string(rune('A'+i)), Filename: file}
		l := &profile.Location{ID: uint64(i + 1), Mapping: m, Address: uint64(0x1000 + 16*i), Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{100}})
	}
	return p
}

// page returns a page of pprof's UI.
func page(t *testing.T, pages map[string]http.Handler, name string) string {
	t.Helper()
	w := httptest.NewRecorder()
	pages["/"+name].ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+name+"?f=function", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	return w.Body.String()
}

// TestSourceRoot: the debug information may name any file. Only those below the root are shown, also
// if the working directory, which pprof searches, has others.
func TestSourceRoot(t *testing.T) {
	testutil.Linux(t)
	outer, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(outer, "root")
	for path, text := range map[string]string{
		"secret.c": "SECRET", "root/inside.c": "INSIDE", "root/deep/in/moved.c": "MOVED", "cwd/local.c": "SECRET", "root/deep/secret": "DEEP",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(outer, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(outer, path), []byte(text+"\n"), 0o600))
	}
	require.NoError(t, os.Symlink(filepath.Join(outer, "secret.c"), filepath.Join(root, "link.c")))
	t.Chdir(filepath.Join(outer, "cwd"))
	p := naming([]string{
		filepath.Join(root, "inside.c"), "/build/1/deep/in/moved.c",
		filepath.Join(outer, "secret.c"), "../secret.c", root + "/../secret.c", "secret.c", filepath.Join(root, "link.c"),
		"/proc/self/cwd/../secret.c", "/proc/self/cwd/local.c", "local.c", "/x/cwd/local.c", "/\x00/secret.c", "", "/",
	})
	pages, err := handlers(p, nil, root)
	require.NoError(t, err)
	body := page(t, pages, "source")
	require.Contains(t, body, "INSIDE")
	require.Contains(t, body, "MOVED")
	require.NotContains(t, body, "SECRET")
	require.Contains(t, body, "local.c, not found below "+root)
	require.Equal(t, "../secret.c", p.Function[3].Filename, "the profile itself stays as it is")
	require.Contains(t, page(t, pages, "peek"), filepath.Join(outer, "secret.c"), "names are shown")

	require.NoError(t, os.Symlink("root", filepath.Join(outer, "alias")))
	pages, err = handlers(p, p, filepath.Join("..", "alias"))
	require.NoError(t, err)
	require.NotContains(t, page(t, pages, "source"), "SECRET")

	_, err = handlers(p, nil, filepath.Join(outer, "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestNoSourceRoot: no file is shown, and no program is read.
func TestNoSourceRoot(t *testing.T) {
	pages, err := handlers(naming([]string{"/etc/hostname"}), nil, "")
	require.NoError(t, err)
	require.NotContains(t, pages, "/source")
	require.NotContains(t, pages, "/disasm")
	s, _ := leaky(t)
	w := get(t, s, "/s/24/source?f=remember")
	require.Equal(t, http.StatusNotFound, w.Code)
	require.Contains(t, w.Body.String(), "to see source files, start heaplapse view with --source-root")
}
