package dwarf

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// flatUnit is a unit of so many functions of 16 bytes each, one after the other from 0x1000.
func flatUnit(functions int) (sec Sections, addrs []uint64) {
	b := bytesOf{}.unit(0x1000, uint64(functions)*16)
	for i := range uint64(functions) {
		b = b.function("f", 0x1000+i*16, 16).end()
		addrs = append(addrs, 0x1000+i*16+8)
	}
	return Sections{Info: unit4(b.end()), Abbrev: testAbbrevs()}, addrs
}

// flatFunction is a function that so many calls of 16 bytes each were inlined into.
func flatFunction(calls int) (sec Sections, addrs []uint64) {
	b := bytesOf{}.unit(0x1000, uint64(calls)*16)
	callee := b.at()
	b = b.abstract("callee", 1).function("caller", 0x1000, uint64(calls)*16)
	for i := range uint64(calls) {
		b = b.inlined(callee, 0x1000+i*16, 16, 7).end()
		addrs = append(addrs, 0x1000+i*16+8)
	}
	return Sections{Info: unit4(b.end().end()), Abbrev: testAbbrevs()}, addrs
}

// wideUnit is so many units of one function each, all within the range of a first one.
func wideUnit(units int) (sec Sections, addrs []uint64) {
	info := unit4(bytesOf{}.unit(0x1000, uint64(units)*16).end())
	for i := range uint64(units) {
		info = append(info, unit4(bytesOf{}.unit(0x1000+i*16, 8).function("f", 0x1000+i*16, 8).end().end())...)
		addrs = append(addrs, 0x1000+i*16+4)
	}
	return Sections{Info: info, Abbrev: testAbbrevs()}, addrs
}

func benchmarkLookup(b *testing.B, sec Sections, addrs []uint64) {
	b.ReportAllocs()
	for b.Loop() {
		answers := 0
		require.NoError(b, New(sec, Options{}).Lookup(addrs, func(uint64, []Frame) { answers++ }))
		require.Equal(b, len(addrs), answers)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(addrs)), "ns/address")
}

// The time for an address must not depend on how much else is asked of its unit, function or range.

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
