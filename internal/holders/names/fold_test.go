//go:build linux && amd64

package names

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// TestFold: "A" is a step of that type, "." one of an unknown type, "9|A" has nine blocks left out before it, and "A+2"
// stands for two objects more. A member is written before a colon.
func TestFold(t *testing.T) {
	for steps, want := range map[string]string{
		"":                              "",
		"A":                             "A",
		"A A":                           "A A",
		"A A A":                         "A+1 A",
		"A B B B B C":                   "A B+2 B C",
		". . . A":                       ".+1 . A",
		"T A . A . A . A M":             "T A+2 A M",
		"A . A . A . M":                 "A+1 A . M",
		"T . A . A . A M":               "T . A+1 A M",
		"A B A B":                       "A B A B", // may be by chance
		"A B A B A":                     "A B+1 A",
		"A B C A B C A B C D":           "A B C+1 A B C D",
		"r:L c:N n:L c:N n:L c:N n:L":   "r:L c:N n:L+1 c:N n:L",
		"l:N r:N l:N X":                 "l:N+1 l:N X",
		"A A 100|A A":                   "A+102 A",
		"A . A . A 100|. A . A . M":     "A+53 A . M",
		"A . A . A 101|A . A . A M":     "A+54 A M",
		"A B 9|C":                       "A B+9 C",
		"A A A 9|B B B":                 "A+1 A+9 B+1 B",
		"A A 9|A . A . A":               "A+10 A . A . A",
		"A B A B A C A B A B A C A B A": "A B+1 A C A B+1 A C A B A",
	} {
		var list []Step
		for _, word := range strings.Fields(steps) {
			s := Step{Type: word, Block: blocks.Range{End: 48}}
			if gap, rest, ok := strings.Cut(word, "|"); ok {
				fmt.Sscan(gap, &s.Skipped)
				s.Type = rest
			}
			if via, rest, ok := strings.Cut(s.Type, ":"); ok {
				s.Via, s.Type = via, rest
			}
			s.Type = strings.Trim(s.Type, ".")
			list = append(list, s)
		}
		var got []string
		for _, s := range Fold(list) {
			word := s.Type
			if word == "" {
				word = "."
			}
			if s.Via != "" {
				word = s.Via + ":" + word
			}
			if s.Links > 0 {
				word += fmt.Sprintf("+%d", s.Links)
			}
			got = append(got, word)
			assert.Zero(t, s.Skipped)
		}
		assert.Equal(t, want, strings.Join(got, " "), steps)
	}
}
