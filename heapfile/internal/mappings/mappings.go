// Package mappings compares the mapped files of one snapshot of a process with those of another:
// whether both are of one process image, what was mapped since, and what another file has replaced.
package mappings

import (
	"path"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile"
)

// Moved reports whether the program or the dynamic loader is mapped elsewhere. Both stay in
// place as long as a process image lives.
func Moved(a, b []heapfile.Mapping) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	programA, loaderA := anchors(a)
	programB, loaderB := anchors(b)
	return differ(programA, programB) || differ(loaderA, loaderB)
}

func differ(a, b heapfile.Mapping) bool {
	return a.Path != "" && b.Path != "" && (a.Start-a.Offset != b.Start-b.Offset || a.Path != b.Path)
}

// anchors returns the first executable mapping of the program, whose code comes first in
// /proc/PID/maps, and the first mapping of the dynamic loader. The JVM maps data below the program.
func anchors(maps []heapfile.Mapping) (program, loader heapfile.Mapping) {
	for _, m := range maps {
		if !strings.HasPrefix(m.Path, "/") {
			continue
		}
		if program.Path == "" && m.Executable() {
			program = m
		}
		if isLoader(path.Base(m.Path)) {
			return program, m
		}
	}
	return program, loader
}

// isLoader recognizes ld-linux-x86-64.so.2, ld-2.31.so, ld-musl-x86_64.so.1 and ld.so.1. It
// excludes ld.so.cache, which the loader maps anywhere while it looks for a library.
func isLoader(base string) bool {
	return strings.HasPrefix(base, "ld-") || strings.HasPrefix(base, "ld.so") && base != "ld.so.cache"
}

// Added returns the executable mappings that are not known, each once.
func Added(known, maps []heapfile.Mapping) (added []heapfile.Mapping) {
	seen := make(map[heapfile.Mapping]bool, len(known))
	for _, m := range known {
		seen[m] = true
	}
	for _, m := range maps {
		if m.Executable() && !seen[m] && m.Limit > m.Start {
			seen[m] = true
			added = append(added, m)
		}
	}
	return added
}
