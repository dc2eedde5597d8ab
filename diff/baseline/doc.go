// Package baseline keeps summaries of good runs, for later ones to be compared with.
//
// A run of hundreds of snapshots comes down to some numbers for each allocation site: its steady level, its slope, what it allocated.
// Sites are described by names, files and build IDs; no addresses are left, so neither the binaries nor the process are needed later.
package baseline
