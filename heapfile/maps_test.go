package heapfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
)

var mappingTraps = []struct {
	rule string
	line string
	want heapfile.Mapping
}{
	{"a line of /proc/self/maps", "55d0c0a4e000-55d0c0a52000 r-xp 00001000 00:00 1835    /usr/bin/program",
		heapfile.Mapping{Start: 0x55d0c0a4e000, Limit: 0x55d0c0a52000, Offset: 0x1000, Perm: "r-xp", Inode: 1835, Path: "/usr/bin/program"}},
	{"no space follows an inode of 11 digits", "400000-500000 r-xp 00000000 00:00 12345678901/usr/lib/libc.so.6",
		heapfile.Mapping{Start: 0x400000, Limit: 0x500000, Perm: "r-xp", Inode: 12345678901, Path: "/usr/lib/libc.so.6"}},
	{"no space follows an inode of 20 digits", "400000-500000 r-xp 00000000 00:00 18446744073709551615/usr/lib/libc.so.6",
		heapfile.Mapping{Start: 0x400000, Limit: 0x500000, Perm: "r-xp", Inode: 1<<64 - 1, Path: "/usr/lib/libc.so.6"}},
	{"a path contains spaces", "400000-500000 r-xp 00000000 00:00 7      /opt/My Program/lib (x86)/a.so",
		heapfile.Mapping{Start: 0x400000, Limit: 0x500000, Perm: "r-xp", Inode: 7, Path: "/opt/My Program/lib (x86)/a.so"}},
	{"(deleted) is not part of the path", "400000-500000 r-xp 00000000 00:00 7      /tmp/a b.so (deleted)",
		heapfile.Mapping{Start: 0x400000, Limit: 0x500000, Perm: "r-xp", Inode: 7, Path: "/tmp/a b.so", Deleted: true}},
	{"anonymous memory has no path", "400000-500000 rw-p 00000000 00:00 0 ",
		heapfile.Mapping{Start: 0x400000, Limit: 0x500000, Perm: "rw-p"}},
	{"a special region", "7fff0000-7fff1000 r-xp 00000000 00:00 0           [vdso]",
		heapfile.Mapping{Start: 0x7fff0000, Limit: 0x7fff1000, Perm: "r-xp", Path: "[vdso]"}},
	{"jemalloc writes the device", "400000-500000 r-xp 00002000 fe:00 794628                     /opt/leaky",
		heapfile.Mapping{Start: 0x400000, Limit: 0x500000, Offset: 0x2000, Perm: "r-xp", Inode: 794628, Path: "/opt/leaky"}},
	{"the end of the address space", "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]",
		heapfile.Mapping{Start: 0xffffffffff600000, Limit: 0xffffffffff601000, Perm: "--xp", Path: "[vsyscall]"}},
	{"Google's brief form", "40000-80000: /path/to/binary (@ff00) abc123456",
		heapfile.Mapping{Start: 0x40000, Limit: 0x80000, Offset: 0xff00, Path: "/path/to/binary", BuildID: "abc123456"}},
	{"the brief form with 0x and several blanks", "0x40000-0x80000 /path/to/binary      (@FF00)            abc123456",
		heapfile.Mapping{Start: 0x40000, Limit: 0x80000, Offset: 0xff00, Path: "/path/to/binary", BuildID: "abc123456"}},
	{"the brief form with permissions", "40000-80000 r-xp /path/to/binary (@ff00) abc123456",
		heapfile.Mapping{Start: 0x40000, Limit: 0x80000, Offset: 0xff00, Perm: "r-xp", Path: "/path/to/binary", BuildID: "abc123456"}},
	{"the brief form without offset and build ID", "40000-80000: /path/to/binary",
		heapfile.Mapping{Start: 0x40000, Limit: 0x80000, Path: "/path/to/binary"}},
	{"the brief form with spaces in the path", "40000-80000: /path to/a binary (@0) abc",
		heapfile.Mapping{Start: 0x40000, Limit: 0x80000, Path: "/path to/a binary", BuildID: "abc"}},
	{"FreeBSD's form", "0x800600000 0x80061a000 26 0 0xfffff800035a0000 r-x 75 33 0x1004 COW NC vnode /libexec/ld-elf.so.1 NCH -1",
		heapfile.Mapping{Start: 0x800600000, Limit: 0x80061a000, Perm: "r-x", Path: "/libexec/ld-elf.so.1"}},
	{"FreeBSD's form with spaces in the path", "0x400000 0x401000 1 0 0xfffff80003d95000 r-x 1 0 0x1000 COW NC vnode /opt/My Program CH 1001",
		heapfile.Mapping{Start: 0x400000, Limit: 0x401000, Perm: "r-x", Path: "/opt/My Program"}},
	{"FreeBSD's anonymous memory", "0x800a23000 0x800a2b000 4 0 0xfffff8000333e000 rw- 1 0 0x3000 NCOW NNC default - CH 1001",
		heapfile.Mapping{Start: 0x800a23000, Limit: 0x800a2b000, Perm: "rw-"}},
	{"DragonFly's form", "0x400000 0x40e000 14 0 0xffffffe0624dcb38 r-x 1 0 0x0 COW NC vnode /usr/bin/program",
		heapfile.Mapping{Start: 0x400000, Limit: 0x40e000, Perm: "r-x", Path: "/usr/bin/program"}},
	{"after the prefix of glog", "I0102 03:04:05.678901 1234 heap-profiler.cc:12] 400000-500000 r-xp 00000000 00:00 7      /usr/bin/program",
		heapfile.Mapping{Start: 0x400000, Limit: 0x500000, Perm: "r-xp", Inode: 7, Path: "/usr/bin/program"}},
}

func TestMappingLines(t *testing.T) {
	for _, c := range mappingTraps {
		t.Run(c.rule, func(t *testing.T) {
			s := read(t, heaptest.WithMaps(c.line))
			require.Equal(t, []heapfile.Mapping{c.want}, s.Mappings)
			require.Empty(t, s.Warnings)
		})
	}
}

func TestGooglesMemoryMapSentinel(t *testing.T) {
	s := read(t, heaptest.Lines("heap profile: 1: 2 [1: 2] @ heapz_v2/524288", "1: 2 [1: 2] @ 0x1 0x2", "--- Memory map: ---")+heaptest.Program)
	require.Len(t, s.Mappings, 1)
	require.Equal(t, []string{"1: 2 [1: 2] @ 0x1 0x2"}, show(s), "no blank line is required before it")
	require.Empty(t, s.Warnings)
}

func TestAttributesDefineNames(t *testing.T) {
	for rule, text := range map[string]string{
		"plain":                    heaptest.WithMaps("build=/home/build/out", "40000-80000: $build/bin/a (@ff00) abc"),
		"after the prefix of glog": heaptest.WithMaps("I0102 03:04:05 1 a.cc:12] build=/home/build/out", "I0102 03:04:05 1 a.cc:12] 40000-80000: $build/bin/a (@ff00) abc"),
	} {
		t.Run(rule, func(t *testing.T) {
			s := read(t, text)
			require.Equal(t, []heapfile.Mapping{{Start: 0x40000, Limit: 0x80000, Offset: 0xff00, Path: "/home/build/out/bin/a", BuildID: "abc"}}, s.Mappings)
			require.Empty(t, s.Warnings)
		})
	}
}

func TestAttributesDoNotGrowWithoutBound(t *testing.T) {
	text := []string{"a0=x"}
	for i := range 22 { // each line doubles the length: 4 MiB at the end
		text = append(text, fmt.Sprintf("b%02d=$%s$%s", i, previousName(i), previousName(i)))
	}
	s := read(t, heaptest.WithMaps(append(text, "40000-80000: /$b21")...))
	for _, m := range s.Mappings {
		require.LessOrEqual(t, len(m.Path), 1<<20)
	}
}

func previousName(i int) string {
	if i == 0 {
		return "a0"
	}
	return fmt.Sprintf("b%02d", i-1)
}

func TestOverlappingRangesAreAllKeptInFileOrder(t *testing.T) {
	s := read(t, heaptest.WithMaps(
		"7fff20000000-7fff60000000 r-xp 00000000 00:00 1 /usr/lib/system/a.dylib",
		"7fff10000000-7fff50000000 r-xp 00000000 00:00 2 /usr/lib/system/b.dylib"))
	require.Equal(t, heapfile.Addr(0x7fff20000000), s.Mappings[0].Start)
	require.Equal(t, heapfile.Addr(0x7fff10000000), s.Mappings[1].Start)
	require.Empty(t, s.Warnings)
}

func TestDataMappingsAreKept(t *testing.T) {
	s := read(t, heaptest.WithMaps("400000-500000 r--p 00000000 00:00 7 /usr/bin/program", "500000-600000 r-xp 00100000 00:00 7 /usr/bin/program"))
	require.Len(t, s.Mappings, 2)
	require.False(t, s.Mappings[0].Executable())
	require.True(t, s.Mappings[1].Executable())
}

func TestMalformedMappingLineIsSkipped(t *testing.T) {
	s := read(t, heaptest.WithMaps("nonsense", strings.TrimSpace(heaptest.Program)))
	require.Len(t, s.Mappings, 1)
	require.Equal(t, 4, heaptest.Find(t, s.Warnings, heapfile.WarnMalformedMapping).Line)
}

func TestOverlongMappingLineIsSkipped(t *testing.T) {
	s := read(t, heaptest.WithMaps("500000-600000 r-xp 00000000 00:00 7 /"+strings.Repeat("a", 1<<20), strings.TrimSpace(heaptest.Program)))
	require.Len(t, s.Mappings, 1)
	require.Equal(t, 4, heaptest.Find(t, s.Warnings, heapfile.WarnLongLine).Line)
}

func TestTruncatedMappingsAreAWarning(t *testing.T) {
	for rule, last := range map[string]string{
		"within the range":       "500000-6000",
		"within the permissions": "500000-600000 r-",
		"within the inode":       "500000-600000 r-xp 00000000 00:00 123",
		"within the path":        "500000-600000 r-xp 00000000 00:00 12345      /usr/lib/li",
	} {
		t.Run(rule, func(t *testing.T) {
			s := read(t, heaptest.WithMaps(strings.TrimSpace(heaptest.Program))+last)
			require.Equal(t, 5, heaptest.Find(t, s.Warnings, heapfile.WarnUnfinished).Line)
		})
	}
}

func TestSnapshotWithoutMappingsSectionIsUnfinished(t *testing.T) {
	s := read(t, heaptest.Lines("heap profile: 1: 2 [1: 2] @ heapprofile", "1: 2 [1: 2] @ 0x1"))
	require.True(t, s.Completeness.Unfinished)
	require.True(t, s.Completeness.Truncated)
}

func TestEmptyMappingsSectionIsAWarning(t *testing.T) {
	s := read(t, heaptest.Lines("heap profile: 1: 2 [1: 2] @ heapprofile", "1: 2 [1: 2] @ 0x1", "", "MAPPED_LIBRARIES:"))
	require.False(t, s.Completeness.Unfinished)
	require.Equal(t, []string{"no-mappings"}, heaptest.Kinds(s.Warnings))
}

func TestContainsIsHalfOpen(t *testing.T) {
	m := heapfile.Mapping{Start: 0x10, Limit: 0x20}
	require.Equal(t, []bool{false, true, true, false}, []bool{m.Contains(0xf), m.Contains(0x10), m.Contains(0x1f), m.Contains(0x20)})
}
