// Package symbolize names the addresses of a series of heap snapshots: by the program and the
// libraries that were mapped, their separate debug files, and the maps that just-in-time compilers
// write.
//
// # Contract
//
// [Resolve] finds the [Location] of every address of every stack. A Location without frames has a
// [Reason]. An address has a name only if a symbol or debug information covers it: a symbol does
// not name addresses after its end. A file that does not fit the mappings is not used. The nearest
// symbol is a hint, separate from the name.
//
// An address is a return address; the call is the byte before it. Lookups use the call, while
// Location.Address and Location.Offset are the return address.
//
// Results are immutable, and the same in every run and for any number of workers.
//
// # From an address to an ELF address
//
// An address a in a mapping is at file offset o = a − start + offset. The PT_LOAD segment with
// p_offset ≤ o < p_offset + p_filesz maps it to o − p_offset + p_vaddr. The segment is chosen by o
// for each address, because one mapping may contain several segments, and segments may share a page
// (google/pprof's internal/elfexec.GetBase derives the same formula for each mapping).
//
// # Structure
//
// internal/files finds the files of a module on this machine or in a bundle. internal/elffile reads
// ELF files, internal/dwarf debug information. internal/debuginfod downloads files.
// internal/symcache keeps answers from run to run. Package bundle packs files into an archive.
package symbolize
