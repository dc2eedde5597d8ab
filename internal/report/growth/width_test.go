package growth_test

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/verdict"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/growth/growthtest"
	"github.com/heaplapse/heaplapse/internal/report/text"
)

var update = flag.Bool("update", false, "rewrite testdata")

// eastAsian gives the functions of a report names of wide characters.
func eastAsian(g *growthreport.Report) {
	for i := range g.Symbols.Locations {
		frames := g.Symbols.Locations[i].Frames
		for k := range frames {
			frames[k].Function = strings.NewReplacer("leaky::", "漏洩::", "remember", "リクエストを永久に記憶する", "plugin", "플러그인",
				"Server", "服务器", "geom", "幾何").Replace(frames[k].Function)
			frames[k].File = strings.Replace(frames[k].File, "leaky.cc", "漏れる.cc", 1)
		}
	}
}

// TestTablesFitTheTerminal compares the text at several widths with testdata/width-N.txt. The lines of
// the table fit, and its columns are aligned, also with names of wide characters.
func TestTablesFitTheTerminal(t *testing.T) {
	for _, width := range []int{60, 80, 120, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			g := growthtest.Leaky(t)
			eastAsian(g)
			g.Style = text.Style{Width: width}
			var b bytes.Buffer
			require.NoError(t, g.Text(&b))
			_, table, _ := strings.Cut(b.String(), "\n\n")
			table, _, _ = strings.Cut(table, "\nnote: ") // the command wraps notes
			for line := range strings.Lines(table) {
				require.LessOrEqual(t, uniseg.StringWidth(strings.TrimRight(line, "\n")), width, line)
			}
			golden := filepath.Join("testdata", fmt.Sprintf("width-%d.txt", width))
			if *update {
				require.NoError(t, os.WriteFile(golden, b.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "go test -run %s -update writes it", t.Name())
			require.Equal(t, string(want), b.String(), "go test -update accepts this")
		})
	}
}

// TestProcessesFitTheTerminal: the table of processes fits each width, and shows all of the verdicts, sizes and
// sites in it. Commands that differ are shown, on lines of their own where there is no room for a column.
func TestProcessesFitTheTerminal(t *testing.T) {
	for width := 60; width <= 220; width += 20 {
		for _, commands := range [][2]string{{"shop", "shop"}, {"postgres: checkpointer", "postgres: walwriter"}} {
			g := growthtest.Leaky(t)
			first, second := g.OwnProcess(), g.OwnProcess()
			other := *second.Judged
			second.Judged = &other
			first.Command, second.Command = commands[:1], commands[1:]
			second.PID, second.Verdict, second.Result = 8, verdict.SeriesNoLeak, nil
			g.Processes, g.Style = []growthreport.Process{first, second}, text.Style{Width: width}
			var b bytes.Buffer
			require.NoError(t, g.Text(&b))
			_, table, _ := strings.Cut(b.String(), "\n\n")
			table, _, _ = strings.Cut(table, "\nnote: ") // the command wraps notes
			table, _, _ = strings.Cut(table, "\n\n")
			for line := range strings.Lines(table) {
				require.LessOrEqual(t, uniseg.StringWidth(strings.TrimRight(line, "\n")), width, table)
			}
			require.Regexp(t, `(?m)^7 .* leak 9\d% .* \+21\.6 MiB +\+\S+ MiB +21\.6 MiB\b`, table)
			require.Regexp(t, `(?m)^8 .* no-leak 9\d% .* \+21\.6 MiB +\+\S+ MiB +21\.6 MiB\b`, table)
			require.Regexp(t, `leaky::remember<(leaky::Request|…)> leaky\.cc:105`, table)
			for _, c := range commands {
				require.Equal(t, commands[0] != commands[1], strings.Contains(table, c[:min(12, len(c))]), table)
			}
		}
	}
}

// sequences are the control sequences of colors and links.
var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m|\x1b]8;;[^\x1b]*\x1b\\\\")

// TestStylesChangeNoText: without their control sequences, styled texts are the plain ones. A link
// goes to the file with its line.
func TestStylesChangeNoText(t *testing.T) {
	for _, width := range []int{0, 60, 120} {
		g := growthtest.Leaky(t)
		eastAsian(g)
		g.Style = text.Style{Width: width}
		var plain, styled bytes.Buffer
		require.NoError(t, g.Text(&plain))
		require.NotContains(t, plain.String(), "\x1b")
		g.Style.Color = true
		g.Style.URL = func(file string, line int) string { return fmt.Sprintf("file://%s#%d", file, line) }
		require.NoError(t, g.Text(&styled))
		require.Equal(t, plain.String(), sequences.ReplaceAllString(styled.String(), ""))
		require.True(t, strings.HasPrefix(styled.String(), "\x1b[1;31mLEAK\x1b[0m: "))
		require.Regexp(t, "\x1b\\[1;31mleak 9\\d%\x1b\\[0m ", styled.String())
		require.Regexp(t, "\x1b]8;;file:///[^\x1b]*漏れる.cc#105\x1b\\\\漏れる.cc:105\x1b]8;;\x1b\\\\", styled.String())
	}
}

// TestCSV: RFC 4180, the columns in order, and no formulas from hostile names.
func TestCSV(t *testing.T) {
	g := growthtest.Leaky(t)
	for i := range g.Symbols.Locations {
		frames := g.Symbols.Locations[i].Frames
		for k := range frames {
			frames[k].Function = strings.Replace(frames[k].Function, "leaky::remember<leaky::Request>", `=HYPERLINK("http://x","a,b")`+"\x1b", 1)
		}
	}
	var b bytes.Buffer
	require.NoError(t, g.CSV(&b))
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, len(g.Result.Sites)+1)
	require.Equal(t, "rank,verdict,confidence,growth_bytes,rate,rate_per,now_bytes,function,file,line,module,call_paths,process", strings.Join(rows[0], ","))
	require.Equal(t, []string{"1", "leak"}, rows[1][:2])
	require.Equal(t, `'=HYPERLINK("http://x","a,b")\u001b`, rows[1][7])
	require.Equal(t, "105", rows[1][9])
	require.Equal(t, "hour", rows[1][5])
	for i, row := range rows[1:] {
		require.Equal(t, fmt.Sprint(g.Result.Sites[i].Gained), row[3])
		require.Equal(t, "7", row[12])
	}
}
