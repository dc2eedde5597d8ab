// Package bundle packs a series of snapshots with what its names come from, so that another machine, which has neither
// the program nor its libraries, gives the same answers.
//
// # Contract
//
// A bundle gives byte for byte the results that the machine gave that wrote it: the same snapshots under the same paths, the
// same names for the same addresses, the same reasons for missing ones. What the reading machine has at those
// paths is never looked at: it is likely another build.
//
// The same input gives the same bytes: entries are sorted, and have no times, owners or modes of their own.
//
// # Format
//
// A tar archive, compressed with zstd. Its first entry is heaplapse.bundle.json, an [Index], the others are
//
//	root/usr/bin/program        a file that was read while names were looked up
//	snapshots/1/p.0001.heap     a snapshot, as it was; one number for each directory
//
// A file below root has the size and the headers of the original. Of its content only the parts are there that were
// read: symbol tables, debug sections, notes, PLT stubs with their relocations, and the few bytes before
// each return address by which a program that was rebuilt is recognised. All else, code and data above all, is zero, and takes up
// nothing in a compressed archive. What was read is not guessed from the names of sections: the reader of ELF files notes every
// part that it is asked for ([symbolize.Used]), so that whatever it learns to read is bundled too.
//
// It follows that an unpacked bundle is a sysroot that readelf, gdb and llvm-symbolizer can read.
//
// # Alternatives that were not taken
//
// The finished names, in place of files: they would be smaller, but would fix the way to show names and whatever a
// later version can do better. Sections copied into a new ELF file, as objcopy --only-keep-debug does: it changes the offsets in
// the file, by which addresses are found.
package bundle
