package rss

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

const someSmaps = `55fa4ffbc000-55fa4ffbe000 r--p 00000000 fe:00 247278                     /usr/bin/my program: x
Size:                  8 kB
Rss:                   8 kB
Swap:                  0 kB
VmFlags: rd mr mw me 
7f0000000000-7f0000400000 rw-p 00000000 00:00 0 
Size:               4096 kB
Rss:                2052 kB
AnonHugePages:      2048 kB
Swap:                 12 kB
NewField:              1 kB
VmFlags: rd wr mr mw me ac lo 
7f0000400000-7f0000800000 rw-s 00000000 00:0f 12                         /anon_hugepage (deleted)
Rss:                   0 kB
Shared_Hugetlb:     2048 kB
Private_Hugetlb:    2048 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
Rss:                   0 kB
`

func TestParseSmaps(t *testing.T) {
	got, err := parseSmaps(strings.NewReader(someSmaps))
	require.NoError(t, err)
	assert.Equal(t, []kernelMapping{
		{Range: blocks.Range{Start: 0x55fa4ffbc000, End: 0x55fa4ffbe000}, permissions: "r--p",
			path: "/usr/bin/my program: x", file: true, rss: 8 << 10},
		{Range: blocks.Range{Start: 0x7f0000000000, End: 0x7f0000400000}, permissions: "rw-p",
			rss: 2052 << 10, swap: 12 << 10, huge: 2 << 20, locked: true},
		{Range: blocks.Range{Start: 0x7f0000400000, End: 0x7f0000800000}, permissions: "rw-s",
			path: "/anon_hugepage (deleted)", file: true, hugetlb: 4 << 20},
		{Range: blocks.Range{Start: 0xffffffffff600000, End: 0xffffffffff601000}, permissions: "--xp", path: "[vsyscall]"},
	}, got)
	got, err = parseSmaps(strings.NewReader(""))
	require.NoError(t, err)
	assert.Empty(t, got)
}

func TestParseSmapsRefuses(t *testing.T) {
	const head = "1000-3000 rw-p 00000000 00:00 0 \n"
	for name, text := range map[string]string{
		"field first":        "Rss:  8 kB\n",
		"more than the size": head + "Rss:  12 kB\n",
		"twice":              head + "Rss:  8 kB\nRss:  8 kB\n",
		"overflow":           head + "Rss:  18446744073709551615 kB\n",
		"negative":           head + "Swap:  -4 kB\n",
		"unit":               head + "Rss:  4 MB\n",
		"no unit":            head + "Rss:  4\n",
		"overlap":            head + "2000-4000 rw-p 00000000 00:00 0\n",
		"order":              head + "0-1000 rw-p 00000000 00:00 0\n",
		"empty range":        "1000-1000 rw-p 00000000 00:00 0\n",
		"reversed":           "3000-1000 rw-p 00000000 00:00 0\n",
		"no permissions":     "1000-3000\n",
		"permissions":        "1000-3000 rw 00000000 00:00 0\n",
		"inode":              "1000-3000 rw-p 00000000 00:00 x\n",
		"address":            "1000-18446744073709551616000 rw-p 00000000 00:00 0\n",
		"blank line":         head + "\n",
		"long line":          head + "Name: " + strings.Repeat("x", 2<<20) + "\n",
	} {
		got, err := parseSmaps(strings.NewReader(text))
		require.Error(t, err, name)
		assert.Nil(t, got, name)
	}
}

func FuzzParseSmaps(f *testing.F) {
	f.Add(someSmaps)
	f.Add("1000-3000 rw-p 00000000 00:00 0\nRss: 8 kB\nVmFlags: lo")
	f.Add("1000-3000 rw-p 00000000 00:00 0 [anon:Rss: 8 kB]\nRss: 4 kB\n3000-4000 ---s 0 0 1 /dev/zero")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseSmaps(strings.NewReader(text))
		if err != nil {
			require.Nil(t, list)
			return
		}
		end := uint64(0)
		for _, m := range list {
			require.True(t, m.Start >= end && m.Start < m.End)
			require.LessOrEqual(t, max(m.rss, m.swap, m.huge, m.hugetlb), m.Size())
			end = m.End
		}
	})
}
