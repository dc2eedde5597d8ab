package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heaplapse/heaplapse/heapfile"
)

func (p parser) errorf(line int, format string, args ...any) error {
	return &heapfile.SyntaxError{File: p.name, Line: line, Msg: fmt.Sprintf(format, args...)}
}

// Errors of the YAML decoder.
var (
	// yaml: line 3: did not find expected key
	lineError = regexp.MustCompile(`(?s)^(?:yaml: )?line (\d+): (.*)$`)
	// field byte not found in type config.thresholds
	unknownKey = regexp.MustCompile(`(?s)^field (.*) not found in type (config\.\w+)$`)
	// cannot unmarshal !!int `5` into config.thresholds
	wrongKind = regexp.MustCompile(`(?s)^cannot unmarshal .* into (\[\])?(config\.\w+)$`)
)

// reword converts an error of the YAML decoder to the form of the others: file, line, and what is
// allowed there.
func (p parser) reword(err error) error {
	msg := err.Error()
	var typeError *yaml.TypeError
	structure := errors.As(err, &typeError)
	if structure {
		msg = typeError.Errors[0]
	}
	line := 0
	if m := lineError.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1]) // on overflow, Atoi returns the largest int
		msg = m[2]
	}
	if !structure {
		return p.errorf(line, "not YAML: %s", strings.TrimPrefix(msg, "yaml: "))
	}
	if m := unknownKey.FindStringSubmatch(msg); m != nil {
		section, keys := sectionOf(m[2])
		return p.errorf(line, "%s: unknown key %q: want %s", section, m[1], keys)
	}
	if m := wrongKind.FindStringSubmatch(msg); m != nil {
		section, keys := sectionOf(m[2])
		if m[1] != "" {
			return p.errorf(line, "%s: want a list of entries with the keys %s", section, keys)
		}
		return p.errorf(line, "%s: want keys and values: %s", section, keys)
	}
	return p.errorf(line, "%s", msg)
}

// sectionOf returns the section of the file that a type is for, and its keys.
func sectionOf(name string) (section, keys string) {
	for section, t := range map[string]reflect.Type{
		"the file": reflect.TypeFor[file](), "thresholds": reflect.TypeFor[thresholds](),
		"sites": reflect.TypeFor[site](), "suppressions": reflect.TypeFor[suppression](),
	} {
		if t.String() == name {
			return section, keysOf(t)
		}
	}
	return name, ""
}

// keysOf returns the keys of a type, in the order of its fields.
func keysOf(t reflect.Type) string {
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("yaml"); key != "" && key[0] != ',' {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, ", ")
}
