//go:build linux && amd64

package names

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocktest"
	"github.com/heaplapse/heaplapse/internal/holders/glibc"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/roots"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// look runs testdata/named.cc until it is ready. It writes the addresses of blocks by name.
func look(t *testing.T, flags ...string) (s *snapshot.Snapshot, blocks map[string]string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "named")
	args := append([]string{"-O0", "-Wall", "-pthread", "-o", program, "testdata/named.cc"}, flags...)
	out, err := exec.Command(testutil.Need(t, "g++"), args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program)
	blocks = map[string]string{}
	for _, line := range testutil.Ready(t, cmd) {
		name, address, _ := strings.Cut(line, " ")
		blocks[name] = address
	}
	return blocktest.Snapshot(t, cmd), blocks
}

func TestNames(t *testing.T) {
	for name, flags := range map[string][]string{"debug": {"-g"}, "symbols": nil, "position": {"-no-pie"}, "stripped": {"-s"}} {
		t.Run(name, func(t *testing.T) {
			s, addresses := look(t, flags...)
			program, err := target.Open(s.PID)
			require.NoError(t, err)
			h, err := glibc.Walk(glibc.ProcessOf(s.Memory, s.Mappings, program.Libc.Path))
			require.NoError(t, err)
			list := roots.Of(roots.Process{Memory: s.Memory, Mappings: s.Mappings, Threads: s.Threads, Own: h.Own}, &h.Blocks)
			g, err := graph.Build(graph.Memory{Memory: s.Memory}, &h.Blocks, graph.Options{})
			require.NoError(t, err)
			g.Mark(roots.Graph(list))
			p := Process{PID: s.PID, Modules: program.Modules, Libc: program.Libc, Mappings: s.Mappings, Memory: s.Memory}
			defer p.Close()
			var want []string
			var words []Held
			for name, text := range addresses {
				path, ok := g.Path(parse(t, text), 5)
				require.True(t, ok, name)
				root := list[path.Root]
				if name == "stack" {
					assert.Equal(t, roots.Stack, root.Phase)
					assert.Equal(t, "worker", s.Threads[root.Thread].Name)
					if name := p.Function(t.Context(), s.Stack(root.Thread, program.Modules)); flags == nil || flags[0] != "-s" {
						assert.Equal(t, "handle_loop", strings.TrimSuffix(name, "(void*)"))
					}
					continue
				}
				require.Equal(t, roots.Global, root.Phase, name)
				want = append(want, name)
				words = append(words, Held{Root: root, Address: path.Address})
			}
			require.Len(t, words, 3)
			got, err := p.Variables(t.Context(), words)
			require.NoError(t, err)
			for i, v := range got {
				assert.Equal(t, "named", filepath.Base(v.Module))
				if name == "stripped" {
					assert.Empty(t, v.Name)
					assert.Regexp(t, `^named\+0x[0-9a-f]+$`, v.String())
				} else {
					assert.Equal(t, want[i], v.Name)
				}
				if name == "debug" {
					assert.Equal(t, "named.cc", filepath.Base(v.File))
					assert.Equal(t, map[string]int{"plain": 7, "only_here": 8, "shop::cache": 13}[want[i]], v.Line)
					assert.Equal(t, want[i]+map[string]string{"shop::cache": ".entries[…]"}[want[i]], v.String())
					assert.Equal(t, "char *", v.Type)
				} else {
					assert.Empty(t, v.Type+v.Path)
				}
			}
		})
	}
}

func parse(t *testing.T, text string) uint64 {
	t.Helper()
	n := uint64(0)
	for _, c := range []byte(strings.TrimPrefix(text, "~")) {
		n = n<<4 | uint64(strings.IndexByte("0123456789abcdef", c))
	}
	return n
}
