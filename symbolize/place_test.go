package symbolize

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

const base = 0x5581_2345_6000

// TestSegmentByFileOffset checks that each return address has its ELF address and the name of its
// call, for several layouts of segments. Segments of lld share pages of the file, and their offsets
// differ from their addresses.
func TestSegmentByFileOffset(t *testing.T) {
	for name, link := range map[string][]string{
		"bfd":              nil,
		"bfd, one segment": {"-Wl,-z,noseparate-code"},
		"lld":              {"-fuse-ld=lld"},
		"lld, fixed place": {"-fuse-ld=lld", "-no-pie"},
		"lld, huge page":   {"-fuse-ld=lld", "-Wl,-z,max-page-size=0x200000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := relinked(t, link...)
			load := uint64(base)
			if strings.Contains(strings.Join(link, " "), "-no-pie") {
				load = 0
			}
			calls := callsOf(t, path)
			s := resolve(t, seriesOf(t, mapsOf(t, path, path, load), loadedAt(calls, load)), Options{})
			checkCalls(t, s, path, calls, load)
		})
	}
}

// TestSegmentOfTheCall checks that a return address at the end of a segment belongs to the call in
// it, and that an executable segment takes precedence over another one with the same part of the
// file.
func TestSegmentOfTheCall(t *testing.T) {
	load := func(flags elf.ProgFlag, off, vaddr, size uint64) elf.ProgHeader {
		return elf.ProgHeader{Type: elf.PT_LOAD, Flags: flags, Off: off, Vaddr: vaddr, Filesz: size, Memsz: size}
	}
	file := &elffile.File{Progs: []elf.ProgHeader{
		{Type: elf.PT_NOTE, Off: 0, Filesz: 0x10000},
		load(elf.PF_R, 0, 0x10000, 0x1800),
		load(elf.PF_R|elf.PF_X, 0x1400, 0x21400, 0x800),
		load(elf.PF_R|elf.PF_W, 0x1c00, 0x33c00, 0x100),
	}}
	for offset, want := range map[uint64]uint64{
		1: 0x10001, 0x1400: 0x11400, 0x1401: 0x21401, 0x1800: 0x21800, 0x1bff: 0x21bff, 0x1c00: 0x21c00, 0x1c01: 0x33c01, 0x1d00: 0x33d00,
	} {
		got, ok := elfAddress(file, offset)
		require.True(t, ok, "0x%x", offset)
		require.Equal(t, want, got, "0x%x", offset)
	}
	for _, offset := range []uint64{0, 0x1d01, 1 << 40} {
		_, ok := elfAddress(file, offset)
		require.False(t, ok, "0x%x", offset)
	}
}

// checkCalls checks that each return address has its ELF address and the frames of its call.
func checkCalls(t *testing.T, s *Symbols, path string, calls []call, load uint64) {
	t.Helper()
	var before []uint64
	for _, c := range calls {
		before = append(before, c.returns-1)
	}
	want, err := ELF(t.Context(), path, before, Options{})
	require.NoError(t, err)
	stack := s.Stack(0)
	require.Len(t, stack, len(calls))
	for i, id := range stack {
		l := &s.Locations[id]
		require.Equal(t, heapfile.Addr(calls[i].returns+load), l.Address)
		require.Equal(t, calls[i].returns, l.Offset)
		require.Equal(t, want[i].Source, l.Source, "%s", calls[i].text)
		require.Equal(t, positions(want[i].Frames), positions(l.Frames))
		require.Equal(t, path, s.Module(l).File)
	}
	m := s.Modules[0]
	require.Equal(t, m.CallsChecked, m.CallsFound)
	require.False(t, m.Suspect())
}

// positions returns frames without names, because ELF may choose another alias.
func positions(frames []Frame) (out []string) {
	for _, f := range frames {
		out = append(out, fmt.Sprintf("%s:%d:%d %v", f.File, f.Line, f.Column, f.Inlined))
	}
	return out
}

// TestReasons checks the reason of each address without a name.
func TestReasons(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("not a program"), 0o600))
	maps := []string{
		"10000000-10001000 r-xp 00000000 fe:01 11 " + filepath.Join(dir, "missing.so"),
		"20000000-20001000 r-xp 00000000 fe:01 12 " + text,
		"30000000-30001000 rwxp 00000000 00:00 0 ",
		"40000000-40001000 rwxp 00000000 00:05 99 /memfd:jit (deleted)",
		"50000000-50001000 r-xp 00000000 00:00 0 [vdso]",
		"60000000-60001000 rwxp 00000000 00:00 0 [heap]",
	}
	for name, c := range map[string]struct {
		addr  uint64
		want  Reason
		label string
	}{
		"missing file":            {0x10000100, ReasonMissing, "missing.so+0x100"},
		"not an ELF file":         {0x20000100, ReasonUnreadable, "text+0x100"},
		"anonymous":               {0x30000100, ReasonAnonymous, "0x30000100"},
		"file in memory":          {0x40000100, ReasonAnonymous, "0x40000100"},
		"vdso":                    {0x50000100, ReasonKernel, "0x50000100"},
		"heap":                    {0x60000100, ReasonAnonymous, "0x60000100"},
		"no mapping":              {0x70000100, ReasonNoMapping, "0x70000100"},
		"first byte of a mapping": {0x10000000, ReasonNoMapping, "0x10000000"},
		"first byte after it":     {0x10001000, ReasonMissing, "missing.so+0x1000"},
	} {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, seriesOf(t, maps, []uint64{c.addr}), Options{PerfMaps: []string{}})
			l := &s.Locations[s.Stack(0)[0]]
			require.Equal(t, c.want, l.Reason, l.Reason.String())
			require.False(t, l.Named())
			require.Equal(t, c.label, s.Label(l))
			require.NotEmpty(t, l.Reason.Explain())
		})
	}
}

// TestNullAddress checks address 0, which stacks contain if unwinding failed.
func TestNullAddress(t *testing.T) {
	p := placer{s: &Symbols{}, series: &series.Series{}, ids: map[spaceAddr]LocationID{}}
	id := p.location(0, 0)
	require.Equal(t, ReasonNull, p.s.Locations[id].Reason)
}

func TestReasonsInStrippedFiles(t *testing.T) {
	path := copied(t, standard(t).main)
	calls := callsOf(t, path)
	run(t, "", "objcopy", "--strip-all", path)
	series := seriesOf(t, mapsOf(t, path, path, base), loadedAt(calls, base))
	s := resolve(t, series, Options{})
	for _, id := range s.Stack(0) {
		if l := &s.Locations[id]; !l.Named() {
			require.Equal(t, ReasonNoFunction, l.Reason)
			require.Equal(t, fmt.Sprintf("program+0x%x", l.Offset), s.Label(l))
		}
	}
	// Without section headers, exported functions have no names either.
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	copy(data[40:48], make([]byte, 8)) // e_shoff
	copy(data[58:64], make([]byte, 6)) // e_shentsize, e_shnum, e_shstrndx
	require.NoError(t, os.WriteFile(path, data, 0o700))
	s = resolve(t, series, Options{})
	require.Equal(t, ReasonNoSymbols, s.Modules[0].Reason)
	for _, id := range s.Stack(0) {
		require.Equal(t, ReasonNoSymbols, s.Locations[id].Reason)
	}
}

// TestOverlappingMappings checks that file-backed mappings take precedence and then the mapping
// that starts last.
func TestOverlappingMappings(t *testing.T) {
	mappings := []heapfile.Mapping{
		{Start: 0x1000, Limit: 0x9000, Path: ""},
		{Start: 0x2000, Limit: 0x4000, Path: "/a"},
		{Start: 0x3000, Limit: 0x5000, Path: "/b"},
		{Start: 0x6000, Limit: 0x7000, Path: "[anon:jit]"},
	}
	var f mappingFinder
	for a, want := range map[heapfile.Addr]int{
		0xfff: -1, 0x1000: 0, 0x1fff: 0, 0x2000: 1, 0x2fff: 1, 0x3000: 2, 0x4fff: 2, 0x5000: 0, 0x6000: 3, 0x8fff: 0, 0x9000: -1,
	} {
		m, i := f.find(0, mappings, a)
		require.Equal(t, want, i, "0x%x", uint64(a))
		require.Equal(t, want < 0, m == nil)
	}
}

// TestManyOverlappingMappings checks that a library below 300 mappings of generated code is found.
func TestManyOverlappingMappings(t *testing.T) {
	mappings := []heapfile.Mapping{{Start: 0x1000, Limit: 0x100000, Path: "/lib/a.so"}}
	for i := range heapfile.Addr(300) {
		mappings = append(mappings, heapfile.Mapping{Start: 0x2000 + i, Limit: 0x3000 - i})
	}
	mappings = append(mappings, heapfile.Mapping{Start: 0x200000, Limit: 0x300000})
	var f mappingFinder
	for _, a := range []heapfile.Addr{0x1000, 0x2000, 0x2500, 0x2fff, 0x3000, 0xfffff} {
		_, i := f.find(0, mappings, a)
		require.Zero(t, i, "0x%x", uint64(a))
	}
	_, i := f.find(0, mappings, 0x200000)
	require.Equal(t, 301, i)
	_, i = f.find(1, mappings[:1], 0x200000)
	require.Equal(t, -1, i, "another space")
}

func TestMainProgram(t *testing.T) {
	for name, c := range map[string]struct {
		paths []string
		want  string
	}{
		"program first":        {[]string{"/bin/p", "/lib/libc.so.6"}, "/bin/p"},
		"libraries first":      {[]string{"/lib/ld-2.36.so", "/lib/x.cpython-311-x86_64-linux-gnu.so", "/bin/p"}, "/bin/p"},
		"only libraries":       {[]string{"/lib/libc.so.6"}, ""},
		"no files":             {[]string{"", "[heap]"}, ""},
		"similar to a library": {[]string{"/opt/app.sock/server"}, "/opt/app.sock/server"},
	} {
		t.Run(name, func(t *testing.T) {
			var space series.AddressSpace
			for _, p := range c.paths {
				space.Mappings = append(space.Mappings, heapfile.Mapping{Path: p})
			}
			require.Equal(t, c.want, MainProgram(&series.Series{Spaces: []series.AddressSpace{space}}))
		})
	}
}

// TestPositionsWithoutFunction checks assembler code after the end of a symbol, which has a line
// but no name. ELF returns the line, as llvm-symbolizer does. Resolve returns no frame.
func TestPositionsWithoutFunction(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "code.s")
	require.NoError(t, os.WriteFile(source, []byte(`.text
.globl f
.type f, @function
f:	ret
.size f, 1
	nop
	nop
.section .note.GNU-stack,"",@progbits
`), 0o600))
	path := filepath.Join(dir, "code.so")
	run(t, dir, "gcc", "-g", "-shared", "-nostdlib", "-o", path, source)
	after := symbolValue(t, path, "f") + 1
	require.Equal(t, byLLVM(t, path, []uint64{after}), [][]printed{printLocation(&locate(t, path, []uint64{after})[0])})

	s := resolve(t, seriesOf(t, mapsOf(t, path, path, base), []uint64{base + after, base + after + 1}), Options{})
	at := func(i int) *Location { return &s.Locations[s.Stack(0)[i]] }
	require.Equal(t, "f", at(0).Frames[0].Function)
	require.Equal(t, ReasonNoFunction, at(1).Reason)
	require.Nil(t, at(1).Frames)
	require.Equal(t, "f", at(1).Near, "hint")
	require.Equal(t, uint64(1), at(1).NearDistance)
}

// ownVDSO returns the line of /proc/self/maps, the start and the image of the [vdso] of this
// process.
func ownVDSO(t *testing.T) (line string, start uint64, image []byte) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("this system has no /proc/self/maps")
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(line, "[vdso]\n") {
			continue
		}
		var end uint64
		_, err := fmt.Sscanf(line, "%x-%x", &start, &end)
		require.NoError(t, err)
		memory, err := os.Open("/proc/self/mem")
		require.NoError(t, err)
		defer memory.Close()
		image = make([]byte, end-start)
		_, err = memory.ReadAt(image, int64(start))
		require.NoError(t, err)
		return line, start, image
	}
	t.Skip("this kernel has no [vdso]")
	return "", 0, nil
}

// exportOf returns a function that the image of [vdso] exports.
func exportOf(t *testing.T, image []byte) (function elf.Symbol) {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(image))
	require.NoError(t, err)
	exported, err := file.DynamicSymbols()
	require.NoError(t, err)
	for _, s := range exported {
		if strings.HasPrefix(s.Name, "__") && s.Size > 4 && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			function = s
		}
	}
	require.NotEmpty(t, function.Name)
	return function
}

// TestVDSO checks that the recorded image of [vdso] names addresses in it. Without the image they
// have no name, because another kernel has another [vdso].
func TestVDSO(t *testing.T) {
	line, start, image := ownVDSO(t)
	want := exportOf(t, image)
	dir := t.TempDir()
	heap := fmt.Sprintf("heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x%x\n\nMAPPED_LIBRARIES:\n%s", start+want.Value+2, line)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.0001.heap"), []byte(heap), 0o600))
	resolve := func() *Location {
		series, err := series.Open([]string{dir}, series.Options{})
		require.NoError(t, err)
		defer series.Close()
		symbols, err := Resolve(t.Context(), series, Options{})
		require.NoError(t, err)
		return &symbols.Locations[0]
	}
	require.Equal(t, ReasonKernel, resolve().Reason)
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.VDSOFile), image, 0o600))
	l := resolve()
	require.True(t, l.Named())
	bare := func(name string) string { return strings.TrimPrefix(name, "__vdso_") } // the kernel exports two names of each function
	require.Equal(t, bare(want.Name), bare(l.Frames[0].Function))
}
