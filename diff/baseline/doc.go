// Package baseline keeps summaries of good runs, for later ones to be compared with.
//
// A run of hundreds of snapshots comes down to some numbers for each allocation site: its steady level, its slope, what it allocated.
// Sites are described by names, files and build IDs; no addresses are left, so neither the binaries nor the process are needed later.
//
// A baseline is one file, NAME.baseline.json.gz: a gzip'ed JSON document (docs/schema/baseline.schema.json) whose strings and frames
// stand in tables. A directory of such files is a pool; a file "pinned" in it holds the name of the one that is never pruned. Files
// are named by time, build ID and a hash of their content, and appear by rename: whoever reads the
// directory meanwhile sees whole files only, and of two that save at once neither overwrites the other.
package baseline
