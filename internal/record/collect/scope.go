package collect

// Scope is which processes are recorded besides the main program. The main program is the first one
// that is not a wrapper (sh -c, env, timeout, …).
type Scope string

const (
	// Workers are the forks of the main program, and the processes that run the same file. A
	// program that an interpreter runs has the interpreter's file.
	Workers Scope = ""
	// MainOnly is no other process.
	MainOnly Scope = "main"
	// All is every process, wrappers included.
	All Scope = "all"
)
