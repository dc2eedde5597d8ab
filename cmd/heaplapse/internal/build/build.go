// Package build tells which build of heaplapse runs.
package build

import (
	"runtime/debug"
	"time"
)

// These are set when a release is built, by -ldflags "-X
// github.com/heaplapse/heaplapse/cmd/heaplapse/internal/build.release=1.0.0 …"
// (scripts/dist/dist.sh). Its bytes then depend neither on the checkout nor on the toolchain's
// knowledge of git.
var (
	release    string
	commit     string
	commitTime string // RFC 3339
)

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

// Source returns the commit that was built and its time, as far as they are known.
func Source() (revision string, at time.Time) {
	if commit != "" {
		at, _ = time.Parse(time.RFC3339, commitTime)
		return commit, at
	}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "", time.Time{}
	}
	return recorded(b.Settings)
}

// recorded returns what the Go toolchain recorded about the checkout.
func recorded(settings []debug.BuildSetting) (revision string, at time.Time) {
	modified := ""
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.time":
			at, _ = time.Parse(time.RFC3339, s.Value)
		case "vcs.modified":
			if s.Value == "true" {
				modified = ", modified"
			}
		}
	}
	if revision != "" {
		revision += modified
	}
	return revision, at
}
