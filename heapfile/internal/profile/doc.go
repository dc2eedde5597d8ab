// Package profile reads pprof's profile.proto, the format of the heap profiles of Go,
// google/tcmalloc, jemalloc_pprof, @datadog/pprof and of heaplapse itself.
//
// The fields of a message may come in any order, and samples usually come before the locations,
// functions and strings that they refer to. So a file is read into memory as a whole, and decoded
// in two passes: the first one makes tables of everything except samples, the second one
// ([Profile.Rows]) decodes the samples. No pass allocates per message.
//
// Specification: https://github.com/google/pprof/blob/main/proto/profile.proto
package profile
