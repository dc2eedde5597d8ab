package symbolize

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// itemMembers are those of shop::Item in testdata/types.cc: offset, name and type, and "base" for a base class.
var itemMembers = []string{
	"0  Base base", "16  Second base", "24 low int", "24 high int", "32  ", "40 next shop::Item *",
	"48 declared Declared *", "56 grid short []", "72 inside shop::Inner<long>",
}

// withoutInt removes the difference between the names that gcc and clang have for numbers.
var withoutInt = strings.NewReplacer("short int", "short", "long int", "long")

func describeMembers(types *Types, t *Type) (list []string) {
	for _, m := range t.Members {
		if m.Name == "_vptr.Base" || m.Name == "_vptr$Base" {
			continue
		}
		text := fmt.Sprintf("%d %s %s", m.Offset, m.Name, withoutInt.Replace(types.Type(m.Type).Name))
		if m.Base {
			text += " base"
		}
		list = append(list, text)
	}
	return list
}

// TestTypes reads the members of a structure, with each version of DWARF, by two compilers.
func TestTypes(t *testing.T) {
	testutil.NoRace(t)
	testutil.Linux(t)
	for _, flags := range [][]string{
		{"g++", "-gdwarf-5"}, {"g++", "-gdwarf-4"}, {"g++", "-gdwarf-3", "-gstrict-dwarf"},
		{"g++", "-gdwarf-5", "-fdebug-types-section"}, {"g++", "-gdwarf-4", "-fdebug-types-section"},
		{"clang++", "-gdwarf-5"}, {"clang++", "-gdwarf-4", "-fdebug-types-section"},
		{"clang++", "-gdwarf-5", "-fdebug-types-section"},
	} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "types")
			args := append([]string{"-O0", "-o", program, "testdata/types.cc", "testdata/declared.cc"}, flags[1:]...)
			out, err := exec.Command(testutil.Need(t, flags[0]), args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			types, err := OpenTypes(t.Context(), program, Options{})
			require.NoError(t, err)
			defer types.Close()
			variables, err := types.Variables([]uint64{symbolAddress(t, program, "_ZN4shop4itemE")})
			require.NoError(t, err)
			assert.Equal(t, "shop::Item", variables[0].Type)
			item := types.Type(variables[0].Ref)
			assert.Equal(t, "shop::Item", item.Name)
			assert.EqualValues(t, 80, item.Size)
			assert.Equal(t, itemMembers, describeMembers(types, item))
			member := func(i int) *Type { return types.Type(item.Members[i].Type) }
			union := member(4)
			assert.Equal(t, KindUnion, union.Kind)
			assert.Equal(t, []string{"0 text shop::Text", "0  "}, describeMembers(types, union))
			assert.Equal(t, []string{"0 x int", "4 y int"}, describeMembers(types, types.Type(union.Members[1].Type)))
			next := types.Type(member(5).Elem)
			assert.Equal(t, item, next)
			declared := types.Type(member(6).Elem)
			assert.Equal(t, []string{"0 found int"}, describeMembers(types, declared))
			assert.Equal(t, []uint64{2, 3}, member(7).Counts)
			inner := member(8)
			assert.Equal(t, "long", withoutInt.Replace(types.Type(inner.Params[0]).Name))
			ref, ok := types.Definition("shop::Inner<long>") // as a demangler writes it
			require.True(t, ok)
			assert.Equal(t, inner, types.Type(ref))
			_, ok = types.Definition("shop::Missing")
			assert.False(t, ok)
			class, ok := types.Class(symbolAddress(t, program, "_ZTV4Base") + 16)
			assert.True(t, ok)
			assert.Equal(t, "Base", class)
			_, ok = types.Class(symbolAddress(t, program, "_ZTV4Base"))
			assert.False(t, ok, "objects do not point there")
			locals, err := types.ThreadLocals([]uint64{8, 1000})
			require.NoError(t, err)
			assert.Equal(t, "shop::current shop::Item *[] 8", fmt.Sprint(locals[0].Name, " ", locals[0].Type, " ", locals[0].Offset))
			assert.Zero(t, locals[1])
		})
	}
}

// symbolAddress returns the address of a symbol.
func symbolAddress(t *testing.T, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range symbols {
		if s.Name == name {
			return s.Value
		}
	}
	require.Fail(t, "no symbol", name)
	return 0
}
