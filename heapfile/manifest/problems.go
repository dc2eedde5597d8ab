package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// EndOf returns how a process ended, or, for 0, the recording; nil if that is not known.
func (m *Manifest) EndOf(pid int) *End {
	for i := len(m.Ends) - 1; i >= 0; i-- {
		if m.Ends[i].PID == pid {
			return &m.Ends[i]
		}
	}
	return nil
}

// Refused tells which processes the built-in engine did not record, and why, of those that have written
// no snapshots; "" if there are none.
func (m *Manifest) Refused(wrote func(pid int) bool) string {
	var texts []string
	for _, p := range m.Problems {
		if p.Kind == ProblemDisabled && !wrote(p.PID) {
			texts = append(texts, fmt.Sprintf("process %d is not recorded: %s", p.PID, p.Text()))
		}
	}
	return FirstOf(texts)
}

// Failure tells why a recording has no snapshots; "" if the manifest does not tell it.
func (m *Manifest) Failure() string {
	texts := []string{m.Refused(func(int) bool { return false })}
	for _, p := range m.Problems {
		if p.Kind != ProblemDisabled {
			texts = append(texts, fmt.Sprintf("process %d: %s", p.PID, p.Text()))
		}
	}
	if end := m.EndOf(0); end != nil && end.Error != "" {
		texts = append(texts, "the recorder reports: "+end.Error)
	}
	return FirstOf(slices.DeleteFunc(texts, func(text string) bool { return text == "" }))
}

// FirstOf joins the first few texts, and tells how many there are more.
func FirstOf(texts []string) string {
	const shown = 3
	if len(texts) > shown {
		texts = append(slices.Clone(texts[:shown]), fmt.Sprintf("and %d more", len(texts)-shown))
	}
	return strings.Join(texts, "; ")
}
