package symbolize

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
	"github.com/heaplapse/heaplapse/symbolize/internal/files"
)

// BenchmarkSeries names every tenth address of .text as a return address of a series.
func BenchmarkSeries(b *testing.B) {
	path := standard(b).main
	file, err := elffile.Open(path)
	require.NoError(b, err)
	defer file.Close()
	addrs := textAddresses(b, path)
	b.ReportAllocs()
	for b.Loop() {
		var located []*Location
		for i := 0; i < len(addrs); i += 10 {
			located = append(located, &Location{Offset: addrs[i] + 1})
		}
		require.NoError(b, newResolver(Options{}, files.Host{}, forHeaps).nameByFiles(b.Context(), file, &Module{}, located, nil))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(addrs)/10), "ns/address")
}

// BenchmarkELF names every tenth address of .text of a C++ program with debug information, and of
// libc with its separate debug file.
func BenchmarkELF(b *testing.B) {
	const libc = "/usr/lib/x86_64-linux-gnu/libc.so.6"
	for name, path := range map[string]string{"program": standard(b).main, "libc": libc} {
		b.Run(name, func(b *testing.B) {
			if _, err := os.Stat(path); err != nil {
				b.Skip(path + " is not installed")
			}
			var addrs []uint64
			for i, a := range textAddresses(b, path) {
				if i%10 == 0 {
					addrs = append(addrs, a)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				_, err := ELF(b.Context(), path, addrs, Options{})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(addrs)), "ns/address")
		})
	}
}
