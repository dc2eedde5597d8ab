package symbolize

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkELF names every tenth address of .text: of a program with debug information of C++, and of libc with its
// separate debug file.
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
				_, err := ELF(path, addrs, Options{})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(addrs)), "ns/address")
		})
	}
}
