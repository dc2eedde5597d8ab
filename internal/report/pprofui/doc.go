// Package pprofui serves pprof's own web UI for the snapshots of a series, with a menu that selects
// a snapshot. Each snapshot is converted and symbolized on its first request.
//
// # Contract
//
// A [Server] is an http.Handler. It answers only requests for a name of the loopback interface,
// because another name that resolves to it is an attack (DNS rebinding), and it refuses requests
// that other sites make. It serves only the series given to [New]. pprof's source view reads the
// source files that the debug information names, as pprof itself does.
package pprofui
