package flagset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// Baselines are the earlier runs that --baseline names.
type Baselines struct {
	Paths  []string
	Pinned string // the reference run
}

// Value returns the value of --baseline: a run, or the reference run.
func (b *Baselines) Value() pflag.Value { return baselineValue{b} }

// Reference returns the value of an older flag for the reference run.
func (b *Baselines) Reference() pflag.Value { return referenceValue{b} }

type baselineValue struct{ *Baselines }

// kind matches WORD=PATH.
var kind = regexp.MustCompile(`^([\pL\pN_-]+) ?=(.*)$`)

func (v baselineValue) Set(text string) error {
	if path, ok := strings.CutPrefix(text, "pinned="); ok {
		return referenceValue(v).Set(path)
	}
	if text == "" {
		return errors.New("want the path of an earlier good run, or of a baseline set")
	}
	// A baseline set that does not exist yet passes: a mistyped word would turn the gate off.
	if m := kind.FindStringSubmatch(text); m != nil && !exists(text) {
		return fmt.Errorf("%s= is unknown: want pinned=%s for the reference run, or ./%s for a path", m[1], m[2], text)
	}
	v.Paths = append(v.Paths, text)
	return nil
}

// exists reports whether there is a file at a path, or one that a pattern matches.
func exists(path string) bool {
	if _, err := os.Lstat(path); err == nil {
		return true
	}
	found, _ := filepath.Glob(path)
	return len(found) > 0
}

func (v baselineValue) String() string { return "" }

// Type is that of a text in the help.
func (v baselineValue) Type() string { return "stringArray" }

// GetSlice returns the paths, for completions.
func (v baselineValue) GetSlice() []string { return v.Paths }

type referenceValue struct{ *Baselines }

func (v referenceValue) Set(path string) error {
	if path == "" {
		return errors.New("want the path of the reference run")
	}
	v.Pinned = path
	return nil
}

func (v referenceValue) String() string { return "" }

// Type is that of a text in the help.
func (v referenceValue) Type() string { return "string" }
