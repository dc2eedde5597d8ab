// Package series finds the snapshots of a process, puts them in order and reads them.
//
// [Open] takes directories, files, prefixes and globs. It groups the files by process, reads those
// of one process, numbers its process images, decides the time axis ([Clock]) and infers why each
// snapshot was taken ([filename.Trigger]). Stacks are interned once ([StackTable]). Rows are
// streamed: memory depends on the number of different stacks and the size of one snapshot, not on
// the size of the files.
//
// A recorder writes a manifest beside the snapshots, which has times, processes and build IDs;
// package manifest has its format.
package series
