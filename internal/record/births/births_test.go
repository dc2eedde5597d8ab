//go:build linux

package births

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/holders/samples"
)

var start = time.UnixMilli(1_795_676_287_000)

// TestMarks: a sample belongs to the first snapshot after it. In a long series only some of the older snapshots are
// kept, and one that was removed never comes back.
func TestMarks(t *testing.T) {
	var m marks
	for i := range 5 {
		m.add(uint32(10*(i+1)), start.Add(time.Duration(i)*time.Second))
	}
	for number, want := range map[uint32]int{1: 0, 10: 0, 11: 1, 50: 4, 51: 4} {
		assert.Equal(t, want, m.of(number), "%d", number)
	}
	for i := 5; i < 5000; i++ {
		before := slices.Clone(m)
		m.add(uint32(10*(i+1)), start.Add(time.Duration(i)*time.Second))
		for _, mark := range m[:len(m)-1] {
			require.Contains(t, before, mark)
		}
		require.LessOrEqual(t, len(m), maxMarks)
	}
	assert.Equal(t, mark{10, start}, m[0])
	for i := 2; i < len(m)-1; i++ {
		age := m[len(m)-1].at.Sub(m[i].at)
		assert.LessOrEqual(t, m[i].at.Sub(m[i-1].at), max(age*3/5, 2*time.Second), "%d of %d", i, len(m))
	}
	last, older := m[len(m)-1].newest, m[len(m)-2].newest
	m.late(last + 5)
	assert.Equal(t, last, m[len(m)-1].newest)
	m.late(last - 3)
	assert.Equal(t, last-4, m[len(m)-1].newest)
	m.late(1)
	assert.Equal(t, older, m[len(m)-1].newest)
	m.add(7, start.Add(time.Hour))
	assert.Len(t, m, 1, "the numbers began again")
	m.add(8, start)
	assert.Len(t, m, 1, "the clock was set back")
}

// snapshotOf returns a snapshot with rows of random counts, and what is known of their births.
func snapshotOf(random *rand.Rand) (text string, b *Births) {
	b = &Births{sites: map[string][]sample{}}
	for i := range 1 + random.IntN(9) {
		b.marks = append(b.marks, mark{uint32(10 * i), start.Add(time.Duration(i) * time.Second)})
	}
	var rows strings.Builder
	var total [2]int64
	for i := range random.IntN(20) {
		objects, size := int64(random.IntN(1000)), int64(random.IntN(1<<30))
		if objects == 0 {
			size = 0
		}
		total[0], total[1] = total[0]+objects, total[1]+size
		stack := fmt.Sprintf("%#x %#x", 0x1000*(i+1), 0x100000000000010+16*i)
		fmt.Fprintf(&rows, "%d: %d [%d: %d] @ %s\n", objects, size, objects, size, stack)
		if random.IntN(5) == 0 {
			continue // such as a mapping
		}
		for range random.IntN(40) {
			w := 1 + random.ExpFloat64()*10
			b.sites[stack] = append(b.sites[stack], sample{uint32(random.IntN(100)), w, w * random.Float64() * 1e5})
		}
		slices.SortFunc(b.sites[stack], func(a, b sample) int { return cmp.Compare(a.number, b.number) })
	}
	return fmt.Sprintf("heap profile: %d: %d [%d: %d] @ heapprofile/131072\n%sMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 1 /bin/x @ y\n",
		total[0], total[1], total[0], total[1], rows.String()), b
}

// written passes a snapshot through a Writer in pieces.
func written(t *testing.T, text string, b *Births, random *rand.Rand) string {
	t.Helper()
	var out bytes.Buffer
	w := Writer{Out: &out, Take: func(period int64) *Births {
		assert.EqualValues(t, 131072, period)
		return b
	}}
	for rest := []byte(text); len(rest) > 0; {
		n := 1 + random.IntN(len(rest))
		done, err := w.Write(rest[:n])
		require.NoError(t, err)
		require.Equal(t, n, done)
		rest = rest[n:]
	}
	require.NoError(t, w.Flush())
	return out.String()
}

// TestWriter: the comments agree with their rows, and nothing else is added. pprof reads the same as without them.
func TestWriter(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		text, b := snapshotOf(random)
		got := written(t, text, b, random)
		assert.Equal(t, got, written(t, text, b, random), "the pieces do not matter")
		var kept strings.Builder
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, "# births ") {
				kept.WriteString(line)
			}
		}
		require.Equal(t, text, kept.String())

		d := heapfile.Decoder{Merge: true, Births: true}
		s, err := d.ReadFile(fstest.MapFS{"x.heap": {Data: []byte(got)}}, "x.heap", "x.heap")
		require.NoError(t, err)
		for _, w := range s.Warnings {
			require.NotContains(t, w.Msg, "agree", got)
		}
		require.Equal(t, strings.Count(got, "# births "), len(s.Births), "%s", got)

		plain, err1 := profile.ParseData([]byte(text))
		annotated, err2 := profile.ParseData([]byte(got))
		require.Equal(t, err1, err2)
		if err1 == nil {
			require.Equal(t, plain.String(), annotated.String())
		}
	}
}

// line is the comment behind a row, or "".
func line(b *Births, stack string, objects, bytes int64) string {
	if t := b.row(stack, objects, bytes); len(t) > 0 {
		return t.String()
	}
	return ""
}

// TestAllMoments: the first comment has all moments, the others only those of their memory.
func TestAllMoments(t *testing.T) {
	b := &Births{
		marks: marks{{10, start}, {20, start.Add(time.Second)}, {30, start.Add(2 * time.Second)}},
		sites: map[string][]sample{"0x1": {{15, 1, 10}}, "0x2": {{25, 2, 20}}},
	}
	text := "heap profile: 3: 30 [3: 30] @ heapprofile/131072\n1: 10 [1: 10] @ 0x1\n%s2: 20 [2: 20] @ 0x2\n%s"
	got := written(t, fmt.Sprintf(text, "", ""), b, rand.New(rand.NewPCG(1, 1)))
	assert.Equal(t, fmt.Sprintf(text, "# births 1795676287000:0:0 1795676288000:1:10 1795676289000:0:0\n",
		"# births 1795676289000:2:20\n"), got)
}

// TestLate: of a snapshot at which the samples could not be read, what a row has more than before was allocated since,
// and of what it has less, the newest is missing.
func TestLate(t *testing.T) {
	last := &Births{
		marks:  marks{{10, start}, {20, start.Add(time.Second)}},
		sites:  map[string][]sample{"0x1": {{7, 10, 1000}, {12, 10, 1000}, {13, 20, 2000}}, "0x2": {{3, 4, 400}}},
		before: map[string][]sample{"0x2": {{2, 4, 400}, {3, 4, 400}}}, // 2 had been freed
	}
	b := last.later(start.Add(2*time.Second), time.Hour)
	for row, want := range map[string]string{
		"0x1 50 6000": "# births 1795676287000:10:1000 1795676288000:30:3000 1795676289000:10:2000\n",
		"0x1 20 2000": "# births 1795676287000:10:1000 1795676288000:10:1000\n",
		"0x2 4 400":   "# births 1795676287000:4:400\n",
		"0x2 8 800":   "# births 1795676287000:4:400 1795676289000:4:400\n",
		"0x3 2 70":    "",
		"0x3 0 0":     "",
	} {
		var stack string
		var objects, bytes int64
		_, err := fmt.Sscan(row, &stack, &objects, &bytes)
		require.NoError(t, err)
		assert.Equal(t, want, line(b, stack, objects, bytes), row)
	}
}

// TestReadAgain: what was read last counts for some time, in which the samples are not read again. After that it does
// not: what was freed since, and allocated again, would seem to be old.
func TestReadAgain(t *testing.T) {
	last := func(ago time.Duration) *Births {
		return &Births{marks: marks{{10, time.Now().Add(-80 * time.Hour)}, {20, time.Now().Add(-ago)}}}
	}
	resting := func(ago time.Duration) *Process {
		return &Process{last: last(ago), next: time.Now().Add(time.Hour)}
	}
	p := resting(9 * time.Hour)
	assert.NotNil(t, p.Take(131072))
	assert.NotNil(t, p.Take(131072))
	assert.Nil(t, resting(11*time.Hour).Take(131072))
	assert.Nil(t, (&Process{next: time.Now().Add(time.Hour)}).Take(131072), "nothing was ever read")

	p = &Process{last: last(11 * time.Hour), Memory: fails{unix.ESRCH}}
	assert.NotNil(t, p.Take(131072), "it is the last snapshot of a process that has ended")
	p.Memory = fails{samples.ErrLimit}
	assert.Nil(t, p.Take(131072), "there are too many samples")
	p.Memory = fails{unix.ESRCH}
	assert.Nil(t, p.Take(131072), "and then what was read before does not count any more")
}

// fails is memory that cannot be read.
type fails struct{ err error }

func (f fails) Read(uint64, []byte) error { return f.err }

// TestLine: samples that a row does not have are newer than it, and what it has beyond all samples is new.
func TestLine(t *testing.T) {
	b := &Births{
		marks: marks{{10, start}, {20, start.Add(time.Second)}, {30, start.Add(2 * time.Second)}},
		sites: map[string][]sample{
			"a": {{5, 2, 20}, {12, 2, 20}, {15, 1, 10}, {21, 2, 20}},
			"b": {{3, 1.5, 15}, {25, 3.4, 34}},
		},
		before: map[string][]sample{
			"d": {{4, 2, 20}, {8, 2, 20}, {14, 2, 20}}, "e": {{4, 2, 20}, {11, 2, 20}},
		},
	}
	b.sites["d"] = []sample{{8, 2, 20}, {24, 1, 10}}
	var late []uint32
	b.late = func(number uint32) { late = append(late, number) }
	for _, c := range []struct {
		stack          string
		objects, bytes int64
		want           string
	}{
		{"a", 7, 70, "# births 1795676287000:2:20 1795676288000:3:30 1795676289000:2:20\n"},
		{"a", 5, 50, "# births 1795676287000:2:20 1795676288000:3:30\n"},
		{"a", 3, 30, "# births 1795676287000:2:20 1795676288000:1:10\n"},
		{"a", 9, 95, "# births 1795676287000:2:20 1795676288000:3:30 1795676289000:4:45\n"},
		{"b", 5, 49, "# births 1795676287000:2:15 1795676289000:3:34\n"},
		{"b", 2, 16, "# births 1795676287000:2:16\n"},
		{"b", 9, 90, "# births 1795676287000:2:15 1795676289000:7:75\n"},
		{"c", 9, 90, ""},
		{"a", 0, 0, ""},
		{"d", 3, 30, "# births 1795676287000:2:20 1795676289000:1:10\n"},
		{"d", 5, 50, "# births 1795676287000:2:20 1795676288000:2:20 1795676289000:1:10\n"}, // 14 was freed since
		{"d", 9, 90, "# births 1795676287000:4:40 1795676288000:2:20 1795676289000:3:30\n"},
		{"e", 2, 20, "# births 1795676288000:2:20\n"},
	} {
		assert.Equal(t, c.want, line(b, c.stack, c.objects, c.bytes), "%s %d", c.stack, c.objects)
	}
	assert.Equal(t, []uint32{21, 15, 25}, late)
}

// TestOldMemoryNeverBecomesMore: what was allocated before a snapshot only becomes less, though the samples are read
// some time after the rows were counted.
func TestOldMemoryNeverBecomesMore(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 3))
		var m marks
		var newest uint32
		live := map[uint32]bool{} // whether it is never freed
		run := func(n int) {
			for range n {
				newest++
				live[newest] = random.IntN(3) == 0
				for number, stays := range live {
					if !stays && random.IntN(20) == 0 {
						delete(live, number)
					}
				}
			}
		}
		var before []map[time.Time]int64 // by snapshot, the bytes that were allocated before a time
		var last map[string][]sample
		for i := range 60 {
			run(random.IntN(30))
			row := int64(len(live))
			run(random.IntN(5))
			m.add(newest, start.Add(time.Duration(i)*time.Second))
			b := &Births{marks: slices.Clone(m), sites: map[string][]sample{}, before: last, late: m.late}
			last = b.sites
			run(random.IntN(5) * random.IntN(6))
			for _, number := range slices.Sorted(maps.Keys(live)) {
				b.sites["a"] = append(b.sites["a"], sample{number, 1, 10})
			}
			sums, sum := map[time.Time]int64{}, int64(0)
			fields := strings.Fields(strings.TrimPrefix(line(b, "a", row, 10*row), "# births "))
			for _, mark := range m {
				if len(fields) > 0 && strings.HasPrefix(fields[0], fmt.Sprint(mark.at.UnixMilli(), ":")) {
					var at, objects, bytes int64
					_, err := fmt.Sscanf(fields[0], "%d:%d:%d", &at, &objects, &bytes)
					require.NoError(t, err)
					sum, fields = sum+bytes, fields[1:]
				}
				sums[mark.at] = sum
			}
			require.Empty(t, fields)
			require.Equal(t, 10*row, sum)
			before = append(before, sums)
		}
		for i := 1; i < len(before); i++ {
			for at, bytes := range before[i] {
				if earlier, ok := before[i-1][at]; ok {
					require.LessOrEqual(t, bytes, earlier, "seed %d, snapshot %d", seed, i)
				}
			}
		}
	}
}

// TestWriterPassesOthers: what is no snapshot, and a snapshot of which nothing is known, stay as they are.
func TestWriterPassesOthers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	text, _ := snapshotOf(random)
	assert.Equal(t, text, written(t, text, nil, random))
	for _, other := range []string{"", "x", "heap profile: 1: 1 [1: 1] @ heapprofile/abc\n1: 1 [1: 1] @ 0x1", strings.Repeat("y", 3<<20)} {
		assert.Equal(t, other, written(t, other, nil, random))
	}
}
