// Package dwarf finds the functions, inlined calls and source lines of addresses in DWARF 2 to 5.
//
// It is not a general reader. [Data.Lookup] reads only the units that hold an address of the
// lookup, walks their entries by compiled abbreviations, and copies no section. Input is not
// trusted: every read stays within its section, chains of references have a fixed limit, a budget
// limits the work that shared parts can cause, and an error is a [*FormatError] with section and
// offset.
//
// Sources: DWARF 5, 4 and 2 (dwarfstd.org), the GNU extensions for split DWARF
// (gcc.gnu.org/wiki/DebugFission) and for the supplementary files of dwz. Package encoding has the
// encoding of numbers, values and entries, and package values follows values into other sections.
package dwarf

import (
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/values"
)

// FormatError reports that a section does not follow the DWARF format at an offset.
type FormatError = encoding.FormatError

// Sections holds the debug sections of an ELF file, decompressed. A missing section is nil.
type Sections = values.Sections

func formatError(section string, off uint64, msg string) error {
	return &FormatError{Section: section, Offset: off, Msg: msg}
}
