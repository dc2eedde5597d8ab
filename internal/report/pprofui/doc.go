// Package pprofui serves pprof's own web UI for the snapshots of a series, each converted and symbolized when it is first looked
// at, with a menu to choose the snapshot by.
//
// # Contract
//
// A [Server] is a http.Handler that answers only to the names of the loopback interface (a page elsewhere may have its own name
// point there: DNS rebinding), and to requests that no other site made. It shows the series that it was given and nothing else;
// pprof's source view reads the source files that the debug information names, as pprof itself does.
package pprofui
