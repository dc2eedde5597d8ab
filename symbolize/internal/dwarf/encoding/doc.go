// Package encoding decodes the data representation that all DWARF sections share (DWARF 5 section
// 7): little-endian and LEB128 numbers, the forms of attribute values, abbreviations, and the
// debugging information entries that abbreviations describe.
//
// A [Cursor] reads numbers and text. A [Shape] reads the value of a form. A [Table] holds compiled
// abbreviations: they skip the attributes that symbolization does not need in as few steps as
// possible, because those are most of .debug_info.
package encoding

import "fmt"

// FormatError reports that a section does not follow the DWARF format at an offset.
type FormatError struct {
	Section string
	Offset  uint64
	Msg     string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s+0x%x: %s", e.Section, e.Offset, e.Msg)
}
