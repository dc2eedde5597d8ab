// Package pprofui serves pprof's own web UI for the snapshots of a series, with a menu that selects
// a snapshot. Each snapshot is converted and symbolized on its first request.
//
// # Contract
//
// A [Server] is an http.Handler. It answers only requests below [Server.Path], which contains a
// secret, because other users of the machine can connect to it. It answers only requests for a name
// of the loopback interface, because another name that resolves to it is an attack (DNS rebinding),
// and refuses requests that other sites make.
//
// It serves only the series given to [New]. pprof's source view shows source files below
// Options.SourceRoot only, because the debug information may name any file. Programs are not read
// again, so there is no disassembly.
package pprofui
