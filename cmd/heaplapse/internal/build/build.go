// Package build tells which build of heaplapse runs.
package build

import (
	"runtime/debug"
	"time"
)

// release is set when a release is built: -ldflags "-X
// github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build.release=1.0.0".
var release string

// Version returns the release, or else the version that the Go toolchain recorded.
func Version() string {
	if release != "" {
		return release
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}

// Tool returns the name and version that output files contain.
func Tool() string { return "heaplapse " + Version() }

// Source returns the commit that was built and its time, as far as the Go toolchain recorded them.
func Source() (commit string, at time.Time) {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "", time.Time{}
	}
	modified := ""
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			at, _ = time.Parse(time.RFC3339, s.Value)
		case "vcs.modified":
			if s.Value == "true" {
				modified = ", modified"
			}
		}
	}
	if commit != "" {
		commit += modified
	}
	return commit, at
}
