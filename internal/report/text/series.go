package text

import (
	"cmp"
	"fmt"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
)

// SeriesName names a series in a heading: the prefix of its files and, if known, the process.
func SeriesName(s *series.Series) string {
	name := Clean(cmp.Or(s.Process.Prefix, s.Dir()))
	if s.Process.PID != 0 {
		name += fmt.Sprintf(", process %d", s.Process.PID)
	}
	return name
}

// Advise adds to the warnings of a series what to do about them.
func Advise(warnings []heapfile.Warning) []heapfile.Warning {
	for i := range warnings {
		if warnings[i].Kind == heapfile.WarnManyProcesses {
			warnings[i].Msg += OtherProcesses()
		}
	}
	return warnings
}

// ShowAll is how to see all rows of a table.
func ShowAll(all int) string { return fmt.Sprintf(": %s %d shows them", option.Top, all) }

// OtherProcesses is how to see the other processes of a recording.
func OtherProcesses() string {
	return fmt.Sprintf(" (%s chooses another; %s judges all)", option.Process, option.GrowthCommand)
}

// OtherMethod tells that two runs were recorded in different ways, and what to do.
func OtherMethod(base, method, current, other string) string {
	sees := map[string]string{
		manifest.MethodRecord: "record, from the start of the program",
		manifest.MethodAttach: "attach, without what was allocated before",
	}
	return fmt.Sprintf("%s by %s; %s by %s: record both the same way", base, sees[method], current, sees[other])
}
