package sites

import "github.com/heaplapse/heaplapse/symbolize"

// GroupBy is what a row of a result is: a function, file, module or stack.
type GroupBy string

// Groupings: single call paths, or all call paths that are attributed to one function, file or
// module.
const (
	ByStack    GroupBy = "stack"
	ByFunction GroupBy = "function"
	ByFile     GroupBy = "file"
	ByModule   GroupBy = "module"
)

// GroupBys are all groupings.
var GroupBys = []GroupBy{ByFunction, ByStack, ByFile, ByModule}

// Group returns the file or the module of a location's frame, by which rows are grouped; "" if rows
// are neither. frame is -1 for a location without a name.
func (by GroupBy) Group(s *symbolize.Symbols, l *symbolize.Location, frame int) string {
	if by != ByFile && by != ByModule {
		return ""
	}
	if (by == ByFile || l.Script()) && frame >= 0 && l.Frames[frame].File != "" {
		return symbolize.FileName(l.Frames[frame].File)
	}
	if m := s.Module(l); m != nil {
		return m.Title()
	}
	return "(no file)"
}
