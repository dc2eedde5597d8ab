package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDistinctFiles: files get as much of their paths as tells them apart, and only where that is necessary.
func TestDistinctFiles(t *testing.T) {
	for files, want := range map[string]string{
		"/srv/app.py":                          "",
		"/srv/app.py /srv/shop.py":             "",
		"/srv/api/app.py /srv/web/app.py":      "api/app.py web/app.py",
		"/srv/api/app.py /srv/api/app.py":      "",
		"/srv/app.py /srv/web/app.py":          "srv/app.py web/app.py",
		"/a/api/app.py /b/api/app.py":          "a/api/app.py b/api/app.py",
		"/a/x/m.c /b/x/m.c /b/y/m.c":           "a/x/m.c b/x/m.c y/m.c",
		"main.cc /src/main.cc":                 "",
		"./main.cc main.cc":                    "",
		"main.cc /src/main.cc /lib/main.cc":    "main.cc src/main.cc lib/main.cc",
		"/p/json/__init__.py /p/x/__init__.py": "",
		"/p/x/__init__.py /q/x/__init__.py":    "p/x/__init__.py q/x/__init__.py",
		"<string> <stdin>":                     "",
	} {
		list := strings.Fields(files)
		names, got := DistinctFiles(list), []string{}
		for _, f := range list {
			if name := names[f]; name != "" {
				got = append(got, name)
			} else if len(names) > 0 {
				got = append(got, f)
			}
		}
		require.Equal(t, want, strings.Join(got, " "), files)
	}
}

func TestAnd(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "1": {"1"}, "1 and 2": {"1", "2"}, "1, 2 and 5": {"1", "2", "5"}} {
		require.Equal(t, want, And(words...))
	}
}
