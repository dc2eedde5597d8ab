package lines

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFileNames: compilation directory, include directory and name are joined but not cleaned.
func TestFileNames(t *testing.T) {
	for name, c := range map[string]struct {
		compDir string
		dirs    []string
		file    file
		want    string
	}{
		"absolute":                       {"/comp", []string{"/comp"}, file{"/a.c", 0}, "/a.c"},
		"in the compilation directory":   {"/comp", []string{"/comp"}, file{"a.c", 0}, "/comp/a.c"},
		"in a relative directory":        {"/comp", []string{"/comp", "inc"}, file{"a.h", 1}, "/comp/inc/a.h"},
		"in an absolute directory":       {"/comp", []string{"/comp", "/usr/include"}, file{"a.h", 1}, "/usr/include/a.h"},
		"dots are kept":                  {"/comp", []string{"/comp", "../x/./y"}, file{"a.h", 1}, "/comp/../x/./y/a.h"},
		"relative compilation directory": {"./malloc", []string{"./malloc"}, file{"malloc.c", 0}, "./malloc/malloc.c"},
		"no compilation directory":       {"", []string{""}, file{"a.c", 0}, "a.c"},
		"directory index out of range":   {"/comp", []string{"/comp"}, file{"a.c", 9}, "/comp/a.c"},
		"a slash at the end":             {"/comp/", []string{"/comp/"}, file{"a.c", 0}, "/comp/a.c"},
		"no name":                        {"/comp", []string{"/comp"}, file{"", 0}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			table := Table{Source: Source{CompDir: c.compDir}, dirs: c.dirs, files: []file{c.file}}
			require.Equal(t, c.want, table.FileName(0))
			require.Empty(t, table.FileName(1), "a file index out of range")
		})
	}
}

// TestRepeatedDirectories: in DWARF 5, directory 0 repeats the compilation directory. Other tools
// join the two if they are relative. DWARF 4 has no such entry.
func TestRepeatedDirectories(t *testing.T) {
	for _, c := range []struct {
		compDir string
		version uint16
		want    string
	}{
		{"./malloc", 5, "./malloc/./malloc/malloc.c"},
		{"./malloc", 4, "./malloc/malloc.c"},
		{"/malloc", 5, "/malloc/malloc.c"},
	} {
		table := Table{
			Source: Source{CompDir: c.compDir, Repeat: true}, version: c.version, dirs: []string{c.compDir},
			files: []file{{name: "malloc.c"}},
		}
		require.Equal(t, c.want, table.path(0))
		table.Repeat = false
		require.Equal(t, c.compDir+"/malloc.c", table.path(0))
	}
}
