// Package bundle packs a series of snapshots together with what its names come from, so that another machine, which has
// neither the program nor its libraries, gives the same answers.
//
// # Contract
//
// A bundle gives byte for byte the results of the machine that wrote it: the same snapshots under the same paths, the same
// names for the same addresses, the same reasons for missing names. Local files at those paths are ignored: they are
// probably other builds.
//
// The same input gives the same bytes: entries are sorted and have no times, owners or modes of their own.
//
// # Format
//
// A bundle is a tar archive compressed with zstd. Its first entry is heaplapse.bundle.json, an [Index]. The others are
//
//	root/usr/bin/program        a file that was read while names were resolved
//	snapshots/1/p.0001.heap     a snapshot, unchanged; each directory has a number
//
// A file below root has the size and the headers of the original. Of its content it has only the parts that were read:
// symbol tables, debug sections, notes, PLT stubs with their relocations, and the few bytes before each return address
// that show whether the program was rebuilt. Everything else, above all code and data, is zero and takes no space in a
// compressed archive. The reader of ELF files records each part that it reads (see internal/files), so that whatever it
// learns to read is bundled, too.
//
// An unpacked bundle is therefore a sysroot that readelf, gdb and llvm-symbolizer can read.
//
// # Rejected designs
//
// The resolved names in place of files: smaller, but they would fix how names are shown and could not profit from later
// versions. Sections copied to a new ELF file, as objcopy --only-keep-debug does: this changes the offsets in the file, by
// which addresses are found.
package bundle
