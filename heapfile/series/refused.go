package series

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// refused tells which processes the built-in engine did not record, and why, of those that have no
// snapshots.
func (s *recorded) refused(processes []Process) string {
	if s.Manifest == nil {
		return ""
	}
	wrote := map[int]bool{} // by process ID
	for i := range processes {
		wrote[processes[i].PID] = true
	}
	var texts []string
	for _, p := range s.Problems {
		if p.Kind == manifest.ProblemDisabled && !wrote[p.PID] {
			texts = append(texts, fmt.Sprintf("process %d is not recorded: %s", p.PID, p.Text()))
		}
	}
	return firstOf(texts)
}

// failureOf tells why a recording has no snapshots, after a colon. It returns "" if the directory
// has no manifest, or one that does not tell.
func failureOf(dir string) string {
	m, err := manifest.Load(dir)
	if err != nil || m == nil {
		return ""
	}
	s := recorded{Manifest: m}
	texts := []string{s.refused(nil)}
	for _, p := range m.Problems {
		if p.Kind != manifest.ProblemDisabled {
			texts = append(texts, fmt.Sprintf("process %d: %s", p.PID, p.Text()))
		}
	}
	if end := endOf(m, 0); end != nil && end.Error != "" {
		texts = append(texts, "the recorder reports: "+end.Error)
	}
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	if len(texts) == 0 {
		return ""
	}
	return ": " + firstOf(texts)
}

// firstOf joins the first few texts, and tells how many there are more.
func firstOf(texts []string) string {
	const shown = 3
	if len(texts) > shown {
		texts = append(slices.Clone(texts[:shown]), fmt.Sprintf("and %d more", len(texts)-shown))
	}
	return strings.Join(texts, "; ")
}
