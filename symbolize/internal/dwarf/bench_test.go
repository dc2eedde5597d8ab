package dwarf

import (
	"testing"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/stretchr/testify/require"
)

// flatUnit returns a unit with consecutive functions of 16 bytes from 0x1000.
func flatUnit(functions int) (sec Sections, addrs []uint64) {
	b := dwarftest.Bytes{}.Unit(0x1000, uint64(functions)*16)
	for i := range uint64(functions) {
		b = b.Function("f", 0x1000+i*16, 16).End()
		addrs = append(addrs, 0x1000+i*16+8)
	}
	return Sections{Info: dwarftest.Unit4(b.End()), Abbrev: dwarftest.Abbrevs()}, addrs
}

// flatFunction returns a unit with one function, into which consecutive calls of 16 bytes are
// inlined.
func flatFunction(calls int) (sec Sections, addrs []uint64) {
	b := dwarftest.Bytes{}.Unit(0x1000, uint64(calls)*16)
	callee := b.At()
	b = b.Abstract("callee", 1).Function("caller", 0x1000, uint64(calls)*16)
	for i := range uint64(calls) {
		b = b.Inlined(callee, 0x1000+i*16, 16, 7).End()
		addrs = append(addrs, 0x1000+i*16+8)
	}
	return Sections{Info: dwarftest.Unit4(b.End().End()), Abbrev: dwarftest.Abbrevs()}, addrs
}

// wideUnit returns units of one function each. The range of another unit contains them all.
func wideUnit(units int) (sec Sections, addrs []uint64) {
	info := dwarftest.Unit4(dwarftest.Bytes{}.Unit(0x1000, uint64(units)*16).End())
	for i := range uint64(units) {
		info = append(info, dwarftest.Unit4(dwarftest.Bytes{}.Unit(0x1000+i*16, 8).Function("f", 0x1000+i*16, 8).End().End())...)
		addrs = append(addrs, 0x1000+i*16+4)
	}
	return Sections{Info: info, Abbrev: dwarftest.Abbrevs()}, addrs
}

func benchmarkLookup(b *testing.B, sec Sections, addrs []uint64) {
	b.ReportAllocs()
	for b.Loop() {
		answers := 0
		require.NoError(b, New(sec, Options{}).Lookup(addrs, func(uint64, []Answer) { answers++ }))
		require.Equal(b, len(addrs), answers)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(addrs)), "ns/address")
}

// The time per address must not depend on the number of addresses in a unit, a function or a range.

func BenchmarkFunctionsOfOneUnit(b *testing.B) {
	sec, addrs := flatUnit(80_000)
	benchmarkLookup(b, sec, addrs)
}

func BenchmarkInlinesOfOneFunction(b *testing.B) {
	sec, addrs := flatFunction(20_000)
	benchmarkLookup(b, sec, addrs)
}

func BenchmarkUnitsWithinOne(b *testing.B) {
	sec, addrs := wideUnit(20_000)
	benchmarkLookup(b, sec, addrs)
}
