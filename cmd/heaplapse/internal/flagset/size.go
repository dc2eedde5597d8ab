package flagset

import (
	"errors"

	"github.com/heaplapse/heaplapse/internal/units"
)

// Size is the value of a flag that is a size, such as 512KiB. The zero value is one that is not
// set.
type Size struct {
	Bytes int64

	text string
}

// IsSet reports whether there is a size, which may be 0.
func (s *Size) IsSet() bool { return s.text != "" }

// Set implements pflag.Value.
func (s *Size) Set(text string) error {
	n, err := units.ParseBytes(text)
	if err != nil {
		return errors.New("want a size, such as 64KiB or 1MiB")
	}
	s.Bytes, s.text = n, text
	return nil
}

func (s *Size) String() string { return s.text }

// Type is that of a text in the help.
func (s *Size) Type() string { return "size" }

// PositiveSize is the value of a flag that is a size of at least a byte.
type PositiveSize struct{ Size }

// Set implements pflag.Value.
func (s *PositiveSize) Set(text string) error {
	if err := s.Size.Set(text); err != nil {
		return err
	}
	if s.Bytes == 0 {
		return errors.New("want a size such as 64KiB, or 1, which records every allocation")
	}
	return nil
}
