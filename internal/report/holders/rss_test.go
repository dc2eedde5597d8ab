package holders

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

var update = flag.Bool("update", false, "write the expected outputs")

const mib = 1 << 20

// server is a process with everything.
func server() *rss.Result {
	r := &rss.Result{
		Schema: rss.Schema, PID: 4711, Program: "server", Kernel: 812 * mib,
		Malloc: &rss.Malloc{
			Blocks: 1203411, MappedBlocks: 12,
			Sizes: []rss.Size{
				{Size: 112, Blocks: 900000, Bytes: 100 * mib}, {Size: 48, Blocks: 200000, Bytes: 90 * mib},
				{Size: 32, Blocks: 9, Bytes: 1},
			},
			Arenas: []rss.Arena{{Main: true, Live: 200 * mib, Free: 100 * mib, Trimmable: 90 * mib}, {Free: 301 * mib}},
			Pinned: rss.Pinned{
				Pages: 15616, Live: 3 * mib, Blocks: 28000, Sizes: []rss.Size{{Size: 112, Blocks: 28000, Bytes: 3 * mib}},
				Held: &answer.Held{Looked: 30, By: []answer.Holder{
					{Blocks: 28, Kind: answer.Global, Name: "g_sessions", Type: "std::map<int, Session*>",
						File: "/src/server.cc", Line: 14, Path: []answer.Step{{Via: "[…]", Type: "Session"}}},
					{Blocks: 2, Kind: answer.Lost},
				}},
			},
		},
		Python: &rss.Python{Pools: 3840, EmptyPools: 64},
		Stacks: 17, EndedStacks: 2,
		Files: []rss.Mapping{
			{Name: "/usr/lib/libtorch_cpu.so", Bytes: 14 * mib, Largest: 9 * mib, Count: 4},
			{Name: "/usr/bin/ser\x1b[31mver", Bytes: mib, Largest: mib, Count: 1},
		},
		Shared: []rss.Mapping{{Name: "/dev/shm/frames", Bytes: 12 * mib, Largest: 12 * mib, Count: 1}},
		Anonymous: []rss.Mapping{{Name: "", Bytes: 9 * mib, Largest: 4 * mib, Count: 3},
			{Name: "[anon:cache]", Bytes: mib, Largest: mib, Count: 1}},
		HugePages: 20 * mib, HugeZero: 2 * mib, Swap: 5 * mib,
		Advice: []rss.Advice{{Means: rss.Trim, Bytes: 312 * mib}, {Means: rss.ArenaMax, Bytes: 301 * mib},
			{Means: rss.Allocator, Bytes: 61 * mib}},
		Allocators: []string{}, Problems: []string{},
	}
	for i, n := range []int64{280, 10, 1, 312, 61, 3, 24, 1, 41, 15, 4, 10, 1, 20, 3, 2, 12, 1, 10, 1} {
		r.Parts = append(r.Parts, rss.Part{Kind: rss.Kinds[i], Bytes: n * mib})
		r.Bytes += n * mib
	}
	return r
}

// TestRSSText compares the texts with testdata/rss.txt. Set -update to write it.
func TestRSSText(t *testing.T) {
	refused := &rss.Result{
		PID: 4712, Program: "redis-server", Bytes: 50 * mib,
		Parts:      []rss.Part{{Kind: rss.Anonymous, Bytes: 40 * mib}, {Kind: rss.Code, Bytes: 10 * mib}},
		Anonymous:  []rss.Mapping{{Name: "", Bytes: 40 * mib, Largest: 12 * mib, Count: 9}},
		Allocators: []string{"libjemalloc.so.2"},
		Problems:   []string{"process 4712 is stopped: let it continue first (kill -CONT 4712)", "two", "three"},
		Advice:     []rss.Advice{{Means: rss.SmallPages, Bytes: 9 * mib}},
	}
	var b bytes.Buffer
	for _, r := range []*rss.Result{server(), refused} {
		for _, width := range []int{0, 80, 60} {
			fmt.Fprintf(&b, "-- %s, width %d --\n", r.Program, width)
			require.NoError(t, (&RSS{Result: r, Width: width}).Text(&b))
		}
	}
	golden := filepath.Join("testdata", "rss.txt")
	if *update {
		testutil.WriteFile(t, golden, b.String(), 0o644)
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String(), "go test ./internal/report/holders -update writes it")
}

// TestRSSFits writes results at random: at most 15 lines, none wider than the terminal, and rows that add up.
func TestRSSFits(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := server()
		r.Bytes, r.Parts = 0, nil
		for _, kind := range rss.Kinds {
			bytes := random.Int64N(1 << (10 + random.IntN(30)))
			r.Parts, r.Bytes = append(r.Parts, rss.Part{Kind: kind, Bytes: bytes}), r.Bytes+bytes
		}
		if by := r.Malloc.Pinned.Held.By; random.IntN(2) == 0 {
			by[0].Blocks, by[1].Blocks = 15, 15
		}
		for range random.IntN(4) {
			r.Problems = append(r.Problems, strings.Repeat("problem ", random.IntN(30)))
		}
		report := &RSS{Result: r, Width: 60 + random.IntN(100)}
		var b bytes.Buffer
		require.NoError(t, report.Text(&b))
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		require.LessOrEqual(t, len(lines), mostRows, b.String())
		for _, line := range lines {
			require.LessOrEqual(t, text.Width(line), report.Width, line)
		}
		sum := int64(0)
		for _, row := range report.Rows(9) {
			if row.Level == 0 {
				sum += row.Bytes
			}
		}
		require.Equal(t, r.Bytes, sum)
	}
}

func TestRSSJSONMeetsItsSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(testutil.Root(t), "docs/schema/rss.schema.json"))
	require.NoError(t, err)
	for _, r := range []*rss.Result{server(), {
		Schema: rss.Schema, Parts: []rss.Part{}, Files: []rss.Mapping{}, Shared: []rss.Mapping{},
		Anonymous: []rss.Mapping{}, Allocators: []string{}, Advice: []rss.Advice{}, Problems: []string{},
	}} {
		var b bytes.Buffer
		require.NoError(t, (&RSS{Result: r}).JSON(&b))
		require.True(t, strings.HasPrefix(b.String(), "{\n  \"schema\": \"heaplapse.rss/1\""))
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(v))
		var again rss.Result
		require.NoError(t, json.Unmarshal(b.Bytes(), &again))
		assert.Equal(t, r, &again)
	}
}
