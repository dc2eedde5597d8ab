package collect

// Result is what was collected.
type Result struct {
	// Status is the program's exit status, or 128 plus Signal.
	Status int
	// Signal is the number of the signal that killed the program, or 0.
	Signal int
	// Snapshots is the number of snapshots that are kept, Processes the number of processes that
	// wrote them.
	Snapshots, Processes int
	// Main is the number of the process with the most snapshots.
	Main int
	// Notes lists warnings for the user: what is missing, and why.
	Notes []string
}
