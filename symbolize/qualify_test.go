package symbolize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/symbolize/internal/names"
)

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

// TestLocalNamesAreQualified checks functions without a linkage name: gcc gives none to functions that are local to
// their unit. Inlined, they must have the names that the symbols have if nothing is inlined.
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

// inlinedNames returns the names of all inlined calls in a file's code, as Resolve gives them.
func inlinedNames(t *testing.T, path string) map[string]bool {
	t.Helper()
	var stack []uint64
	for _, a := range textAddresses(t, path) {
		stack = append(stack, a+base+1)
	}
	series := seriesOf(t, mapsOf(t, path, path, base), stack)
	series.BuildIDs = map[string]string{path: "abcd"} // for most of these addresses no call ends at
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
