package holders

import (
	"fmt"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Sites has what holds the blocks of each site that was looked at.
type Sites map[symbolize.SiteID]answer.Held

// Add adds what holds the blocks of one call path of a site.
func (s Sites) Add(site symbolize.SiteID, held answer.Held) { s[site] = join(s[site], held) }

// Of returns what holds the blocks of some sites together.
func (s Sites) Of(members []symbolize.SiteID) (held answer.Held) {
	for _, m := range members {
		held = join(held, s[m])
	}
	return held
}

func join(a, b answer.Held) answer.Held {
	if b.Looked == 0 {
		return a
	}
	return answer.Held{
		Looked: a.Looked + b.Looked, By: answer.Merge(append(append([]answer.Holder{}, a.By...), b.By...)),
	}
}

const (
	// agreed is the share of the blocks that one holder must have to be told without the others.
	agreed = 0.8
	// stale is the share below which a holder may be memory that was not cleared.
	stale = 0.1
)

// Line is what holds nearly all blocks of a site: "held by g_sessions (server.cc:14, std::map) → Session   30 of 30"; "" if
// that is not known or not one thing. Of ways that differ at their ends, it tells what they have in common.
func Line(h answer.Held) string {
	common, more := h.Common(agreed)
	if common.Blocks == 0 || common.Kind == answer.NotFound {
		return ""
	}
	line := Phrase(&common)
	if more && !isJavaScript(&common) {
		line += " → …"
	}
	return fmt.Sprintf("%s   %d of %d", line, common.Blocks, h.Looked)
}

// Lines are all holders of a site, the most frequent first. A heading tells what they are.
func Lines(h answer.Held) (lines []string) {
	if len(h.By) == 0 {
		return nil
	}
	lines = append(lines, fmt.Sprintf("what holds it, for %d of its blocks from the first half of the recording:", h.Looked))
	for i := range h.By {
		line := fmt.Sprintf("  %2d of %d %s", h.By[i].Blocks, h.Looked, Phrase(&h.By[i]))
		if isFew(h.By[i].Blocks, h.Looked) {
			line += " (so few may be memory that was not cleared)"
		}
		lines = append(lines, line)
	}
	return lines
}

// isFew reports whether some of the blocks may be held by memory that was not cleared.
func isFew(blocks, looked int) bool { return float64(blocks) < stale*float64(looked) }
