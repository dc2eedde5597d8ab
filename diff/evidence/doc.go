// Package evidence reads what Valgrind's memcheck and LeakSanitizer report when a program exits,
// and finds the records that belong to the sites of a series.
//
// [Read] reads a report: memcheck's XML (valgrind's docs/internals/xml-output-protocol4.txt), or
// the text of LeakSanitizer (compiler-rt: lsan_common.cpp, LeakReport), which AddressSanitizer
// writes, too. [Symbolize] names the addresses of a report that was written without a symbolizer.
// [NewIndex] attributes each record to a function, by the same rules as an allocation of a series,
// and [Index.At] finds the records of a function. [Join] does so for all sites of a series.
//
// Such a report is of another run, often of another build, and sees only what no pointer leads to
// at the exit. A record confirms that a site loses memory. The absence of one says nothing: most
// leaks of long-running programs are still reachable, or freed at the exit.
package evidence
