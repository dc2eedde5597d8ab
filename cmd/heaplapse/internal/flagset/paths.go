package flagset

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/spf13/pflag"
)

// text is a flag whose value is checked when it is set.
type text struct {
	to    *string
	check func(string) error
	kind  string
}

func (t text) Set(s string) error {
	if err := t.check(s); err != nil {
		return err
	}
	*t.to = s
	return nil
}

func (t text) String() string {
	if t.to == nil {
		return ""
	}
	return *t.to
}

// Type is that of a text in the help.
func (t text) Type() string { return t.kind }

// OutputFile returns the value of a flag for a file that is written. It is an error before any work
// is done that the file cannot be made.
func OutputFile(to *string) pflag.Value { return text{to, CheckOutput, "string"} }

// CheckOutput returns an error for a file that cannot be made. "-" is standard output.
func CheckOutput(path string) error {
	if path == "-" {
		return nil
	}
	if path == "" {
		return errors.New("want the name of a file, or - for standard output")
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return errors.New("is a directory: want the name of a file in it")
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no directory %s: make it first", dir)
	} else if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file: want a directory there", dir)
	}
	return nil
}

// OutputDir returns the value of a flag for a directory that is written. placeholders are the letters
// that may follow % in its name; if there are none, % has no meaning. An empty name is as none: a variable of a
// service that is not set must not keep its program from running.
func OutputDir(to *string, placeholders string) pflag.Value {
	return text{to, func(path string) error {
		rest := path
		for placeholders != "" {
			_, after, found := strings.Cut(rest, "%")
			if !found {
				return nil
			}
			if after == "" || !strings.ContainsRune(placeholders+"%", rune(after[0])) {
				return fmt.Errorf("%%%.1s is unknown: want %%%s; %%%% is a percent sign", after,
					strings.Join(strings.Split(placeholders, ""), ", %"))
			}
			rest = after[1:]
		}
		return nil
	}, "string"}
}

// existing returns the value of a flag for a file or directory that must exist. what is what it is.
func existing(to *string, what string) pflag.Value {
	return text{to, func(path string) error {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("does not exist here: want the path of %s", what)
		}
		return nil
	}, "string"}
}

// eachExisting is the value of a flag that can be repeated, for files or directories that must exist. what is what each
// is.
type eachExisting struct {
	to   *[]string
	what string
}

// Set implements pflag.Value.
func (e eachExisting) Set(path string) error {
	var one string
	if err := existing(&one, e.what).Set(path); err != nil {
		return err
	}
	*e.to = append(*e.to, path)
	return nil
}

func (e eachExisting) String() string { return "" }

// Type is that of other flags that can be repeated in the help.
func (e eachExisting) Type() string { return "stringArray" }

// Program returns the value of a flag for a program, which is a path or is found in PATH. what is what it is.
func Program(to *string, what string) pflag.Value {
	return text{to, func(name string) error {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("there is no such program: want the path of %s", what)
		}
		return nil
	}, "string"}
}

// Library returns the value of --library.
func Library(to *string) pflag.Value { return existing(to, "a library of tcmalloc or jemalloc") }

// expression returns the value of a flag for a regular expression.
func expression(to **regexp.Regexp) pflag.Value {
	var source string
	return text{&source, func(s string) error {
		re, err := regexp.Compile(s)
		var malformed *syntax.Error
		if errors.As(err, &malformed) {
			return fmt.Errorf(`%s in the regular expression; a \ before ( [ * + ? . takes them literally`, malformed.Code)
		}
		*to = re
		if s == "" {
			*to = nil
		}
		return nil
	}, "string"}
}
