package sites

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
