package collect

import "github.com/heaplapse/heaplapse/internal/record/held"

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
	// Files are the files that the processes have mapped, if they were held. The caller closes them.
	Files held.Files
	// Notes lists warnings for the user: what is missing, and why.
	Notes []string
}
