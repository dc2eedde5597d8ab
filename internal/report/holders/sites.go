package holders

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Why tells why there is no [Line] about a site; "" if there is one. The recorder must have looked.
func Why(seen pipeline.HeldSite) string {
	switch {
	case Line(seen.Held) != "":
		return ""
	case seen.Live == 0:
		return "what holds it is not known: it had too few live samples when the recorder looked last"
	case seen.Looked >= answer.LeastOld || seen.All:
		return "what holds it differs from block to block" + mostly(seen.Held)
	default:
		return fmt.Sprintf("what holds it is not known: when the recorder looked last, %d of its %s were from the first "+
			"half of the recording, and %d are needed; a longer recording tells it",
			seen.Old, units.Count(seen.Live, "live sample"), answer.LeastOld)
	}
}

// mostly tells what holds at least half of the blocks, or of the variables of a module that do, what holds a fifth; ""
// if nothing does.
func mostly(h answer.Held) string {
	const half, fifth = 0.5, 0.2
	by, _ := h.Common(half)
	if isModule(&by) {
		by, _ = h.Common(fifth)
	}
	if by.Blocks == 0 || !isHeld(&by) || isModule(&by) || ofInterpreter(&by) != "" {
		return ""
	}
	return fmt.Sprintf(": %d of %d are %s", by.Blocks, h.Looked, short(&by))
}

// isModule reports whether a way ends with a module of Python, which has many variables.
func isModule(h *answer.Holder) bool { return h.Kind == answer.Module && len(h.Path) == 0 }

const (
	// mostLines limits the ways that Lines tells: more than there are blocks of a call path.
	mostLines = 32
	// agreed is the share of the blocks that one holder must have to be told without the others.
	agreed = 0.8
	// fewest is the number of blocks that one thing must hold if there are more than those that were looked at.
	fewest = 3
	// stale is the share below which a holder may be memory that was not cleared.
	stale = 0.1
)

// common is what nearly all blocks of a site have in common, if that is known and one thing. more reports whether the
// ways of some of them go on, and few whether few blocks tell it.
func common(h answer.Held) (by answer.Holder, more, few, ok bool) {
	by, more = h.Common(agreed)
	few = h.Looked < answer.LeastOld && !h.All
	ok = by.Blocks > 0 && by.Kind != answer.NotFound && !isModule(&by) && (!few || by.Blocks >= fewest)
	return by, more, few, ok
}

// Line is what holds nearly all blocks of a site: "held by g_sessions (server.cc:14, std::map) → Session   30 of 30";
// "" if that is not known or not one thing. Of ways that differ at their ends, it tells what they have in common; of
// long ones, the beginning and the end.
func Line(h answer.Held) string {
	by, more, few, ok := common(h)
	if !ok {
		return ""
	}
	line := short(&by)
	if more && ofInterpreter(&by) == "" {
		line += " → …"
	}
	line = fmt.Sprintf("%s   %d of %d", line, by.Blocks, h.Looked)
	if few {
		line += " (few: a longer recording is surer)"
	}
	return line
}

// Advice tells what to do about blocks that are lost; "" if something holds them, or that is not known.
func Advice(h answer.Held) string {
	by, _, _, ok := common(h)
	switch {
	case !ok:
		return ""
	case by.Kind == answer.Lost:
		return "free each block before the last pointer to it goes"
	case by.Kind == answer.Cycle && by.Type == "shared_ptr":
		return "nothing but a cycle of shared_ptr holds it: make one of them a weak_ptr"
	case by.Kind == answer.Cycle:
		return "nothing but a cycle holds it: break the cycle"
	}
	return ""
}

// Variable is the variable with which the way to nearly all blocks of a site begins, as in "app.SESSIONS (dict)"; "" if
// there is none.
func Variable(h answer.Held) string {
	by, _, _, ok := common(h)
	steps := 0 // that name the variable
	switch by.Kind {
	case answer.Module, answer.Frame:
		steps = 1
	case answer.Global:
	case answer.TLS:
		ok = ok && by.Module != ""
	case answer.Stack:
		ok = ok && by.Variable != ""
	default:
		ok = false
	}
	if !ok || len(by.Path) < steps || ofInterpreter(&by) != "" {
		return ""
	}
	by.Path = slices.Clone(by.Path[:steps])
	for i := range by.Path { // its length may differ from look to look
		by.Path[i].Length, by.Path[i].Limit = 0, 0
	}
	first, _ := words(&by)
	return first
}

// Lines are all holders of a site, the most frequent first. A heading tells what they are.
func Lines(h answer.Held) (lines []string) {
	if len(h.By) == 0 {
		return nil
	}
	lines = append(lines, fmt.Sprintf("what holds it, for %d of its blocks from the first half of the recording:", h.Looked))
	ways := worded(h.By)
	for i, w := range ways {
		if i == mostLines && len(ways) > mostLines+1 {
			rest := 0
			for _, b := range ways[i:] {
				rest += b.blocks
			}
			return append(lines, fmt.Sprintf("  %2d of %d in %d other ways", rest, h.Looked, len(ways)-i))
		}
		line := fmt.Sprintf("  %2d of %d %s", w.blocks, h.Looked, w.phrase)
		if isFew(w.blocks, h) {
			line += " (so few may be memory that was not cleared)"
		}
		lines = append(lines, line)
	}
	return lines
}

// way is what holds some blocks, in words.
type way struct {
	phrase string
	blocks int
}

// worded returns the ways, the most frequent first. Those in the same words are one.
func worded(by []answer.Holder) (ways []way) {
	for i := range by {
		phrase := Phrase(&by[i])
		at := slices.IndexFunc(ways, func(w way) bool { return w.phrase == phrase })
		if at < 0 {
			at = len(ways)
			ways = append(ways, way{phrase: phrase})
		}
		ways[at].blocks += by[i].Blocks
	}
	slices.SortStableFunc(ways, func(a, b way) int { return cmp.Compare(b.blocks, a.blocks) })
	return ways
}

// isFew reports whether what holds so many blocks may be memory that was not cleared. It is not if nothing holds more.
func isFew(blocks int, h answer.Held) bool {
	few := stale * float64(h.Looked)
	return float64(blocks) < few && float64(h.By[0].Blocks) >= few
}
