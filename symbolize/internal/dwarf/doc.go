// Package dwarf answers one question of DWARF 2 to 5: which functions, inlined
// ones included, and which source lines does an address belong to?
//
// It is not a general reader. It walks .debug_info through precompiled
// abbreviations, touches only units that hold an address that was asked for, and never copies a
// section. All input is hostile: every read is bounded by its section, references
// are followed to a fixed depth, and a fault is a [*FormatError] with section and
// offset.
//
// Sources: DWARF 5 (dwarfstd.org), DWARF 4 and 2, the GNU extensions for split
// DWARF and for dwz's supplementary files.
package dwarf

import "fmt"

// Sections are the bytes of an ELF file's debug sections, decompressed. Missing ones
// are nil.
type Sections struct {
	Info, Abbrev, Line, Str, LineStr, StrOffsets, Addr, Ranges, RngLists, Aranges []byte
}

// FormatError is a place that does not hold what DWARF says it should.
type FormatError struct {
	Section string
	Offset  uint64
	Msg     string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s+0x%x: %s", e.Section, e.Offset, e.Msg)
}
