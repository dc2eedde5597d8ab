// Package convert turns snapshots into pprof protobufs that `go tool pprof` and
// its kin open without the binaries: symbolized, unsampled, and with the same
// sample types in every file of a series.
//
// What google/pprof does when it reads the snapshots itself, and this package does not: it chooses
// the sample types by each file's header, so that an early and a late snapshot
// cannot be subtracted (google/pprof#432); it labels samples with their mean
// object size, which splits a site in two; it leaves symbolization to a tool that
// may not have the files.
package convert
