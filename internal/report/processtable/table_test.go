package processtable

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/report/text"
)

// shop are three processes, one of which leaks. The commands of two are the same.
func shop() *Table {
	row := Row{
		Name: "7", Command: "python3 -m shop.serve --port 8080", Verdict: "leak", Label: "leak 97%", Snapshots: 12,
		Growth: "+21.6 MiB", Rate: "+8.1 MiB", Now: "40.2 MiB", Site: "remember app.cc:9",
	}
	other, last := row, row
	other.Name, other.Verdict, other.Label, other.Site = "8", "no-leak", "no-leak", ""
	last.Name, last.Command, last.Verdict, last.Label, last.Site = "9", "python3 -m shop.mails", "undecided", "undecided", "too short"
	return &Table{Rows: []Row{row, other, last}, Unit: "hour", UnitTitle: "HOUR"}
}

// TestTextFits: lines are not longer than the terminal is wide, and have all verdicts, sizes, sites and commands.
func TestTextFits(t *testing.T) {
	for width := 60; width <= 220; width += 20 {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			lines := shop().Text(3, width)
			table := strings.Join(lines, "\n")
			for _, line := range lines {
				require.LessOrEqual(t, uniseg.StringWidth(line), width, table)
			}
			require.Regexp(t, `(?m)^7 .* leak 97% .* \+21\.6 MiB +\+8\.1 MiB +40\.2 MiB\b`, table)
			require.Regexp(t, `(?m)^8 .* no-leak .* \+21\.6 MiB +\+8\.1 MiB +40\.2 MiB\b`, table)
			for _, part := range []string{"remember app.cc:9", "too short", "shop.mails"} {
				require.Contains(t, table, part)
			}
		})
	}
}

// TestEqualCommands: commands that are all the same are left out.
func TestEqualCommands(t *testing.T) {
	same := shop()
	same.Rows = same.Rows[:2]
	require.NotContains(t, strings.Join(same.Text(2, 200), "\n"), "shop")
	require.Contains(t, same.Text(2, 200)[0], "SITE")
}

// TestMoreProcesses: the table says how many it does not show.
func TestMoreProcesses(t *testing.T) {
	require.Equal(t, "… and 2 more processes: --top 3 shows them", shop().Text(1, 0)[2])
	require.NotContains(t, strings.Join(shop().Text(3, 0), "\n"), "…")
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	p := &text.Printer{W: &b}
	shop().Markdown(p, 2)
	require.NoError(t, p.Err)
	require.Equal(t, `| process | command | verdict | snapshots | growth | per hour | now | site |
|---|---|---|--:|--:|--:|--:|---|
| 7 | `+"`python3 -m shop.serve --port 8080`"+` | **leak 97%** | 12 | +21.6 MiB | +8.1 MiB | 40.2 MiB | remember app.cc:9 |
| 8 | `+"`python3 -m shop.serve --port 8080`"+` | no-leak | 12 | +21.6 MiB | +8.1 MiB | 40.2 MiB |  |

… and 1 more process.
`, b.String())
}
