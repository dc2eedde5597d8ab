// Package heapfile reads the heap snapshots that preloaded allocators write:
// gperftools tcmalloc (`heap profile: … @ heapprofile` and its sampled and
// growth relatives), jemalloc (`heap_v2/N`), and heaplapse's own engine (`@ heapprofile/N`).
// It also reads pprof's profiles of the heap and of goroutines: those of Go, jemalloc_pprof,
// @datadog/pprof, google/tcmalloc and heaplapse convert.
//
// # Contract
//
// Reading is pure: the [Snapshot] depends only on the bytes. Raw addresses and raw counts are kept;
// rows are never scaled, or dropped because they look odd. They are added only if [Decoder.Merge]
// is set and the sum is exact. [Sample.Estimate] is the only function that turns raw counts into
// estimates of the heap, and only estimates may be summed. [Head.Estimate] calls it as the format
// requires.
//
// What is missing is data, too: a truncated snapshot has a bound for what it hides
// ([Completeness]), and each tolerated defect is a typed [Warning] with file and line. Only a file
// whose first bytes are not those of a heap snapshot is refused, with a [*FormatError] that names
// what the file is.
//
// Package series reads the snapshots of a process in order.
//
// # Where the formats come from
//
// gperftools src/heap-profile-table.cc, src/malloc_extension.cc and
// docs/pprof_remote_servers.html; jemalloc src/prof_data.c and src/prof_sys.c;
// google/pprof profile/legacy_profile.go for the dialects that only Google
// published.
package heapfile
