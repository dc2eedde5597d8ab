// Package convert turns snapshots into pprof protobufs that `go tool pprof` and similar tools open
// without the binaries. The profiles are symbolized and unsampled, and all profiles of a series
// have the same sample types.
//
// google/pprof reads snapshots too, with these differences:
//
//   - It selects the sample types by the header of each file, so an early and a late snapshot of one
//     series may not be subtractable (google/pprof#432).
//   - It labels each sample with its mean object size, which splits one site into several samples.
//   - It does not symbolize. A later tool must, and may not have the binaries.
//
// The format is that of github.com/google/pprof/proto/profile.proto. Other output formats are
// folded stacks ([Converter.Folded]) and JSON ([Converter.JSON]).
package convert
