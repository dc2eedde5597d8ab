// Package page makes the page of `heaplapse report`: one self-contained HTML file that shows a heap
// over time.
//
// [Build] reads at most 240 snapshots of the series again and returns a [Model]: a tree of
// functions that is the same at every moment, and columns of values by moment. The model is what
// `report --format json` prints (docs/schema/report.schema.json) and what the page's script draws.
//
// # Contract
//
// Totals are conserved: at every moment the leaves sum to the size of the heap in the snapshot's
// header, unless a filter leaves stacks out. Call paths that are too small to be shown are folded
// into their callers, never dropped. Memory that a truncated snapshot does not list is a leaf of
// its own. The output is deterministic.
//
// The script and its style are built from web/ by `make assets` and embedded: the Go build needs no
// Node.
package page
