package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrapBreaksAtBlanks(t *testing.T) {
	const line = "note: the last snapshot was left out: the program exited then, and may have freed memory\n"
	require.Equal(t, line, Wrap(line, 0))
	require.Equal(t, line, Wrap(line, 200))
	require.Equal(t, "note: the last snapshot was left out:\n  the program exited then, and may have\n  freed memory\n", Wrap(line, 40))
	require.Equal(t, Wrap(line, 40), Wrap(line, 3), "a narrower terminal gets what 40 columns fit")
	require.Equal(t, "     → allocate less than that, as the\n       others do", Wrap("     → allocate less than that, as the others do", 40))
	long := "a_word_that_is_longer_than_the_terminal_has_columns"
	require.Equal(t, "see\n  "+long+"\n  there", Wrap("see "+long+" there", 40))
}

// TestWrapDoesNotCountSequences: renditions and hyperlinks take no columns, and are not broken.
func TestWrapDoesNotCountSequences(t *testing.T) {
	link := "\x1b]8;;file://host/a/very/long/path/of/a/source/file.cc#105\x1b\\leaky.cc:105\x1b]8;;\x1b\\"
	line := "\x1b[1;31mLEAK\x1b[0m: remember " + link + " grows to the"
	require.Equal(t, line, Wrap(line, 40))
	require.Equal(t, "\x1b[1;31mLEAK\x1b[0m: remember "+link+" grows to the\n  end", Wrap(line+" end", 40))
}

func TestASCII(t *testing.T) {
	require.Equal(t, "plain", ASCII("plain"))
	require.Equal(t, "24 snapshots | heap 1 KiB -> 2 KiB\n     < main a.cc:1\nstd::map<~>  _#", ASCII("24 snapshots · heap 1 KiB → 2 KiB\n     ← main a.cc:1\nstd::map<…>  ▁█"))
	require.Equal(t, `na\u00efve`, ASCII("naïve"))
}

func TestTableFitsATerminal(t *testing.T) {
	columns := []Column{{Head: "#", Width: 3}, {Head: "NAME", Width: 6, Left: true}, {Head: "NOW", Width: 10, Narrow: 8, Rank: 1}, {Head: "ROWS", Width: 8, Rank: 2}}
	for width, want := range map[int][2]string{
		0:  {"  # NAME          NOW     ROWS  ", "  1 a        1.00 KiB       20  "},
		30: {"  # NAME          NOW     ROWS  ", "  1 a        1.00 KiB       20  "},
		28: {"  # NAME        NOW     ROWS  ", "  1 a      1.00 KiB       20  "},
		20: {"  # NAME        NOW  ", "  1 a      1.00 KiB  "},
		12: {"  # NAME    ", "  1 a       "},
		1:  {"  # NAME    ", "  1 a       "},
	} {
		table := NewTable(width, columns...)
		require.Equal(t, want, [2]string{table.Head(), table.Row("1", "a", "1.00 KiB", "20")}, width)
	}
}
