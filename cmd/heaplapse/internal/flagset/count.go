package flagset

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"
)

// count is a whole number, 0 or more.
type count struct{ to *int }

// Count returns the value of a flag that sets a number of rows or the like, which has a default.
func Count(to *int, otherwise int) pflag.Value {
	*to = otherwise
	return count{to}
}

func (c count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return errors.New("want a whole number, 0 or more")
	}
	*c.to = n
	return nil
}

func (c count) String() string {
	if c.to == nil {
		return ""
	}
	return strconv.Itoa(*c.to)
}

// Type is that of a whole number in the help.
func (c count) Type() string { return "uint" }
