package symbolize

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

// TestNameTable checks that each frame gets the name of its linkage name if several goroutines add
// frames, that frames without a linkage name keep their name, and that hints are demangled.
func TestNameTable(t *testing.T) {
	const modules, each = 7, 500
	locations := make([]Location, modules*each)
	for i := range locations {
		locations[i].Frames = []Frame{
			{Linkage: fmt.Sprintf("_ZN1s5inl%02dEi", 10+i%90), Function: "inl", File: fmt.Sprintf("/src/%d.cc", i%3), Inlined: true},
			{Linkage: fmt.Sprintf("_ZN1s3fooILi%dEE3barEv.cold", i%300), Function: "bar"},
			{Function: "plain.c.function"},
		}
		locations[i].Near = "_ZN1s4nearEv"
	}
	table := newNameTable(Options{})
	var wg sync.WaitGroup
	for m := range modules {
		wg.Go(func() {
			for i := m * each; i < (m+1)*each; i++ {
				table.add(locations[i].Frames)
			}
		})
	}
	wg.Wait()
	table.finish(locations)
	for i, l := range locations {
		require.Equal(t, fmt.Sprintf("s::inl%02d", 10+i%90), l.Frames[0].Function)
		require.Equal(t, fmt.Sprintf("/src/%d.cc", i%3), l.Frames[0].File)
		require.Equal(t, fmt.Sprintf("s::foo<%d>::bar", i%300), l.Frames[1].Function)
		require.Equal(t, fmt.Sprintf("_ZN1s3fooILi%dEE3barEv.cold", i%300), l.Frames[1].Linkage)
		require.Equal(t, "plain.c.function", l.Frames[2].Function)
		require.Equal(t, "s::near", l.Near)
	}
}

// TestBothNames checks that a frame has its display name and its linkage name.
func TestBothNames(t *testing.T) {
	path := standard(t).main
	entry := symbolValue(t, path, "_Z10part_entryPKc")
	for mode, want := range map[Demangle]string{
		DemangleSimple: "part_entry", DemangleFull: "part_entry(char const*)", DemangleNone: "_Z10part_entryPKc",
	} {
		got, err := ELF(t.Context(), path, []uint64{entry}, Options{Demangle: mode})
		require.NoError(t, err)
		last := got[0].Frames[len(got[0].Frames)-1]
		require.Equal(t, want, last.Function)
		require.Equal(t, "_Z10part_entryPKc", last.Linkage)
	}
}

const localsSource = `
extern volatile int sink;
namespace shapes {
template <typename T> LOCAL T remember(T v) { sink = v; return v + 1; }
namespace deep { inline namespace v1 { LOCAL int within(int v) { sink = v; return v * 2; } } }
namespace { struct Hidden { int n; BODY int member(int v) { sink = n; return v + n; } }; }
}
namespace { LOCAL int anonymous(int v) { sink = v; return v - 1; } }
LOCAL int global(int v) { sink = v; return v ^ 3; }
extern "C" int entry(int v) {
  shapes::Hidden h{v};
  return shapes::remember(v) + shapes::remember('c') + shapes::deep::within(v) + h.member(v) + anonymous(v) + global(v);
}
`

// TestLocalNamesAreQualified checks functions without a linkage name. gcc gives none to functions
// that are local to their unit. If they are inlined, they must have the same names as the symbols
// of a build without inlining.
func TestLocalNamesAreQualified(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "locals.cc")
	require.NoError(t, os.WriteFile(source, []byte(localsSource), 0o600))
	for _, compiler := range []string{"g++", "clang++"} {
		for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
			t.Run(compiler+version, func(t *testing.T) {
				object, inlined := filepath.Join(dir, "noinline.o"), filepath.Join(dir, "inlined.so")
				run(t, dir, compiler, "-O1", "-c", "-DLOCAL=static __attribute__((noinline))", "-DBODY=__attribute__((noinline))", "-o", object, source)
				want := map[string]bool{}
				for line := range strings.Lines(run(t, "", "nm", "--defined-only", object)) {
					if f := strings.Fields(line); strings.EqualFold(f[1], "t") && f[2] != "entry" {
						want[names.Demangle(f[2], DemangleSimple)] = true
					}
				}
				require.Len(t, want, 6)
				run(t, dir, compiler, "-O2", "-shared", "-fPIC", version, "-Wl,--unresolved-symbols=ignore-all,--build-id=0xabcd",
					"-DLOCAL=static inline __attribute__((always_inline))", "-DBODY=__attribute__((always_inline))", "-o", inlined, source)
				require.Equal(t, want, inlinedNames(t, inlined))
			})
		}
	}
}

// inlinedNames returns the names of all inlined calls in the code of a file, as Resolve returns
// them.
func inlinedNames(t *testing.T, path string) map[string]bool {
	t.Helper()
	var stack []uint64
	for _, a := range textAddresses(t, path) {
		stack = append(stack, a+base+1)
	}
	series := seriesOf(t, mapsOf(t, path, path, base), stack)
	series.BuildIDs = map[string]string{path: "abcd"} // without it the file would look stale, because most addresses do not follow a call
	names := map[string]bool{}
	for _, l := range resolve(t, series, Options{}).Locations {
		for _, f := range l.Frames {
			if f.Inlined {
				names[f.Function] = true
			}
		}
	}
	return names
}

// TestStableNames checks that each reason and each source has its own name.
func TestStableNames(t *testing.T) {
	reasons := map[string]bool{}
	for r := range Reason(len(reasonNames)) {
		reasons[r.String()] = true
		require.Equal(t, r == ReasonNone, r.Explain() == "", "%s", r)
	}
	require.Len(t, reasons, int(ReasonMalformed)+1)
	require.Equal(t, []string{"dwarf", "symtab", "dynsym", "perf-map", "embedded", "jitdump", "frames", "profile"}, sourceNames[SourceDWARF:])
}
