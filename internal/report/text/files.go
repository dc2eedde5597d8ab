package text

import (
	"path"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize"
)

// DistinctFiles returns names of source files that have the same last element: the shortest ends of their paths that
// differ. Files whose name is that of no other one are left out. A path that is the end of another is the same file,
// as the compiler or the interpreter got it.
func DistinctFiles(files []string) map[string]string {
	alike, seen := map[string][]string{}, map[string]bool{}
	for _, f := range files {
		if name := symbolize.FileName(f); f != "" && !seen[f] {
			seen[f] = true
			alike[name] = append(alike[name], f)
		}
	}
	out := map[string]string{}
	for name, group := range alike {
		for _, f := range group {
			if end := distinctEnd(f, group); end != name {
				out[f] = end
			}
		}
	}
	return out
}

// distinctEnd returns the shortest end of a path that is that of no other file, or FileName if there is no other.
func distinctEnd(file string, all []string) string {
	end, rest := symbolize.FileName(file), strings.TrimSuffix(path.Clean(file), symbolize.FileName(file))
	for endsAnother(end, file, all) && rest != "" && rest != "/" {
		dir, last := path.Split(strings.TrimSuffix(rest, "/"))
		end, rest = path.Join(last, end), dir
	}
	return end
}

// endsAnother reports whether the path of another file has an end.
func endsAnother(end, file string, all []string) bool {
	for _, other := range all {
		if !sameFile(file, other) && strings.HasSuffix("/"+path.Clean(other), "/"+end) {
			return true
		}
	}
	return false
}

// sameFile reports whether one path is the end of the other.
func sameFile(a, b string) bool {
	a, b = "/"+strings.TrimPrefix(path.Clean(a), "/"), "/"+strings.TrimPrefix(path.Clean(b), "/")
	return strings.HasSuffix(a, b) || strings.HasSuffix(b, a)
}
