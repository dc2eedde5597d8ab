package flagset

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// count is a whole number from a least one on.
type count struct {
	to    *int
	least int
}

// Count returns the value of a flag that sets a number of rows or the like, which has a default.
func Count(to *int, otherwise int) pflag.Value {
	*to = otherwise
	return count{to: to}
}

// Number returns the value of a flag that sets a number from 1 on, which has a default.
func Number(to *int, otherwise int) pflag.Value {
	*to = otherwise
	return count{to, 1}
}

func (c count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < c.least {
		return fmt.Errorf("want a whole number, %d or more", c.least)
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
func (c count) Type() string {
	if c.least > 0 {
		return "count"
	}
	return "uint"
}
