package itanium

import (
	"testing"

	"github.com/ianlancetaylor/demangle"
)

// BenchmarkCorpus demangles the sampled names of the libraries on this machine.
func BenchmarkCorpus(b *testing.B) {
	names := corpus(b)
	bytes := 0
	for _, n := range names {
		bytes += len(n)
	}
	ours := func(mode Mode) func(b *testing.B) {
		return func(b *testing.B) {
			var d Demangler
			var buf []byte
			run(b, names, bytes, func(name string) {
				out, _ := d.Append(buf[:0], name, mode)
				buf = out[:0]
			})
		}
	}
	b.Run("full", ours(Full))
	b.Run("simple", ours(Simple))
	b.Run("library/full", func(b *testing.B) {
		run(b, names, bytes, func(name string) { _, _ = demangle.ToString(name, demangle.LLVMStyle) })
	})
	b.Run("library/simple", func(b *testing.B) {
		run(b, names, bytes, func(name string) {
			_, _ = demangle.ToString(name, demangle.NoParams, demangle.NoEnclosingParams, demangle.NoClones)
		})
	})
}

// run demangles one name per iteration.
func run(b *testing.B, names []string, bytes int, demangle func(string)) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		demangle(names[i])
		if i++; i == len(names) {
			i = 0
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "names/s")
	b.ReportMetric(float64(bytes)/float64(len(names)), "length")
}
