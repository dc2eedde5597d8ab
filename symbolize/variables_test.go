package symbolize

import (
	"context"
	"debug/elf"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// variables names ELF virtual addresses in the data of a file.
func variables(ctx context.Context, path string, addrs []uint64) ([]Variable, error) {
	t, err := OpenTypes(ctx, path, Options{})
	if err != nil {
		return nil, err
	}
	list, err := t.Variables(addrs)
	return list, errors.Join(err, t.Close())
}

// TestVariables names the variables of testdata/variables.cc, with each version of DWARF, and by symbols alone.
func TestVariables(t *testing.T) {
	testutil.Linux(t)
	type want struct {
		symbol string
		Variable
	}
	const file = "variables.cc"
	all := []want{
		{"plain", Variable{Name: "plain", Type: "int", Line: 2}},
		{"text", Variable{Name: "text", Type: "const char *", Line: 3}},
		{"_ZL6hidden", Variable{Name: "hidden", Type: "Item *[]", Line: 10}},
		{"_ZN4shop5stockE", Variable{Name: "shop::stock", Type: "shop::Stack<int>", Line: 11}},
		{"_ZZ4mainE5calls", Variable{Name: "main::calls", Type: "long unsigned int", Line: 14}},
		{"handler", Variable{Name: "handler", Type: "void () *", Line: 12}},
	}
	for _, flags := range [][]string{{"-gdwarf-5"}, {"-gdwarf-4"}, {"-gdwarf-3", "-gstrict-dwarf"}, {"-g0"}} {
		t.Run(flags[0], func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "variables")
			args := append([]string{"-O1", "-o", program, filepath.Join("testdata", file)}, flags...)
			out, err := exec.Command(testutil.Need(t, "g++"), args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			f, err := elf.Open(program)
			require.NoError(t, err)
			defer f.Close()
			symbols, err := f.Symbols()
			require.NoError(t, err)
			var addrs []uint64
			var expected []Variable
			for _, w := range all {
				for _, s := range symbols {
					if s.Name == w.symbol {
						addrs = append(addrs, s.Value+s.Size-1, s.Value)
						last := w.Variable
						last.Offset = s.Size - 1
						expected = append(expected, last, w.Variable)
					}
				}
			}
			require.Len(t, addrs, 2*len(all))
			got, err := variables(t.Context(), program, append(addrs, 1))
			require.NoError(t, err)
			assert.Zero(t, got[len(addrs)], "no variable")
			for i, v := range got[:len(addrs)] {
				if flags[0] == "-g0" {
					expected[i].Type, expected[i].Line = "", 0
				} else {
					assert.Equal(t, file, filepath.Base(v.File))
				}
				v.File, v.Ref = "", 0
				assert.Equal(t, expected[i], v)
			}
		})
	}
	_, err := variables(t.Context(), filepath.Join(t.TempDir(), "missing"), []uint64{1})
	require.Error(t, err)
}
