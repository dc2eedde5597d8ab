package siteview

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/evidence"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// LossRecord is a record of memcheck or LeakSanitizer, in JSON.
type LossRecord struct {
	Tool string `json:"tool"`
	// Report is the file, and Position the line of the record in it.
	Report   string `json:"report"`
	Position int    `json:"position"`
	Kind     string `json:"kind"`
	Bytes    int64  `json:"bytes"`
	Blocks   int64  `json:"blocks"`
	// IndirectBytes are of other stacks, which only this memory referred to.
	IndirectBytes int64 `json:"indirect_bytes"`
	// Blame is the index of the frame that the memory is attributed to, -1 for none.
	Blame  int            `json:"blame"`
	Frames []FunctionJSON `json:"frames"`
}

// LossRecords are records in JSON.
func LossRecords(records []*evidence.Record) []LossRecord {
	out := []LossRecord{}
	for _, r := range records {
		j := LossRecord{
			Tool: r.Report.Tool, Report: r.Report.Path, Position: r.Line, Kind: r.Kind.String(),
			Bytes: r.Bytes, Blocks: r.Blocks, IndirectBytes: r.IndirectBytes, Blame: r.Blame, Frames: FunctionsJSON(r.Stack()),
		}
		out = append(out, j)
	}
	return out
}

// lossKinds are the kinds of losses in words.
var lossKinds = map[evidence.Kind]string{
	evidence.Definite:  "definitely lost",
	evidence.Indirect:  "indirectly lost",
	evidence.Possible:  "possibly lost",
	evidence.Reachable: "still reachable at the exit",
}

// LossNotes are the sums of reports in words.
func LossNotes(reports []*evidence.Report) (notes []string) {
	for _, r := range reports {
		if r.Tool != "" {
			notes = append(notes, fmt.Sprintf("%s found %s lost at the exit (%s)", r.Tool, units.Bytes(r.Lost()), text.Clean(r.Path)))
		}
	}
	return notes
}

// Losses are records in words, a line for each tool: "memcheck: 3.88 MiB definitely lost in 248
// blocks, 32.0 KiB possibly lost in 2 blocks".
func Losses(records []*evidence.Record) (lines []string) {
	for _, tool := range [...]string{evidence.Memcheck, evidence.LeakSanitizer} {
		loss, indirect := evidence.Loss{}, int64(0)
		for _, r := range records {
			if r.Report.Tool == tool {
				loss.Add(r)
				if r.IndirectBytes > 0 && !r.Report.HasIndirect {
					indirect += r.IndirectBytes
				}
			}
		}
		if line := lossText(loss, indirect); line != "" {
			lines = append(lines, tool+": "+line)
		}
	}
	return lines
}

// lossText is a loss in words. indirect are the bytes of other stacks that are lost with it.
func lossText(loss evidence.Loss, indirect int64) string {
	var parts []string
	for kind, amount := range loss {
		if kind := evidence.Kind(kind); amount.Blocks > 0 {
			part := fmt.Sprintf("%s %s in %s", units.Bytes(amount.Bytes), lossKinds[kind], units.Count(int(amount.Blocks), "block"))
			if kind == evidence.Definite && indirect > 0 {
				part += fmt.Sprintf(" (and %s that only they refer to)", units.Bytes(indirect))
			}
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// LossPath is the stack of the largest record in a line of a width in characters, from the function
// that the memory is attributed to. It is empty if nothing is known, or if shown, the call path of
// the site, has the same callers.
func LossPath(records []*evidence.Record, width int, shown string) string {
	if len(records) == 0 || len(records[0].Frames) == 0 {
		return ""
	}
	v := lossView(records[0])
	if shown != "" && strings.HasPrefix(shown, v.CallPath(width)) {
		return ""
	}
	at := "at " + v.Heading()
	return text.Join(" ", at, v.CallPath(max(width-text.Width(at), minLossPath)))
}

// minLossPath is the least width of the callers in a LossPath, in characters.
const minLossPath = 60

// LossName is the function of a record, and its place.
func LossName(r *evidence.Record) string { return lossView(r).Heading() }

func lossView(r *evidence.Record) View {
	return OfRun(&baseline.Site{Frames: r.Stack(), Blame: r.Blame}, 1)
}
