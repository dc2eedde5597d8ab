// Package bundle packs a series of snapshots together with the symbols of its program and
// libraries, so that results are the same on another machine, which has neither of them.
//
// # Contract
//
// The results from a bundle are identical to those on the machine that wrote it: the same snapshots
// with the same paths, the same names for the same addresses, the same reasons for missing names.
// Local files at these paths are ignored, because they are probably other builds. The reader may name files of its
// machine that complement a bundle: see [Bundle.OptionsWith].
//
// The output is deterministic: entries are sorted, and all have the same time, owner and
// mode.
//
// # Format
//
// A bundle is a tar archive compressed with zstd. Its first entry is heaplapse.bundle.json, an
// [Index]. The others are
//
//	root/usr/bin/program        a file that was read to resolve names
//	snapshots/1/p.0001.heap     a snapshot; each directory has a number
//
// Snapshots are unchanged, except that one that gzip compressed is an entry in gzip's format with the same header, but
// with stored blocks (RFC 1951, section 3.2.4): zstd then finds what the snapshots have in common, and the archive is
// much smaller.
//
// A file below root has the size and the headers of the original, but only the parts of its content
// that were read: symbol tables, debug sections, notes, PLT stubs with their relocations, and the
// few bytes before each return address that show whether the program was rebuilt. The rest, most of
// all code and data, is zero and compresses to nothing. internal/elffile records each part that it
// reads, so that parts that later versions read are bundled, too.
//
// An unpacked bundle is therefore a sysroot that readelf, gdb and llvm-symbolizer can read.
//
// A bundle without snapshots lies in the directory of a recording, as names.heaplapse.tar.zst: a recorder has kept the
// files there that may not be at their paths later. See Names.
//
// # Rejected designs
//
// Resolved names instead of files: smaller, but later options and versions could not show the names
// differently. Sections copied to a new ELF file, as objcopy --only-keep-debug does: this changes
// file offsets, which are needed to find addresses.
package bundle
