// Package baseline keeps summaries of good runs, which later runs are compared with.
//
// # Summary
//
// A [Run] holds a few numbers for each allocation site of a run: its steady level, its slope, what
// it allocated. Sites are described by names, files and build IDs, not by addresses, so that
// neither the snapshots nor the binaries are needed later. The sites and [Run.Rest] add up to
// [Run.Total].
//
// # Files
//
// A baseline is one file, NAME.baseline.json.gz: a gzip'ed JSON document
// (docs/schema/baseline.schema.json) whose strings and frames are in tables, because most stacks
// share most frames. A directory of such files is a baseline set ([Set]). A file "pinned" in it
// holds the name of the reference run, which is never pruned.
//
// Names consist of the time, the build ID and a hash of the content, so that two programs that save
// at once write two files. A file appears by rename after it is on the disk, so that readers see
// whole files only and nothing needs a lock.
package baseline
