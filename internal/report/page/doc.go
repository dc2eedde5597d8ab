// Package page makes the page of `heaplapse report`: one self-contained HTML file that shows a heap over time.
//
// [Build] reads the series once more, at most 240 of its snapshots, and brings it into a [Model]: a tree of functions
// that is the same at every moment, and columns of values by moment. The model is what `report --format json`
// prints (docs/schema/report.schema.json) and what the page's script draws.
//
// # Contract
//
// Totals are conserved: at every moment the leaves sum to the heap's size as the snapshot's header has it, unless a filter
// leaves stacks out. What is too small to be shown is folded into its caller, never dropped; what a cut snapshot does not
// list is a leaf of its own. The same input gives the same bytes.
//
// The script and its style are built from web/ by `make assets` and embedded: the Go build needs no Node.
package page
