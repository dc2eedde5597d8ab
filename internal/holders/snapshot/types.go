package snapshot

import "errors"

// Errors of [Snapshot.Err].
var (
	ErrMemory = errors.New("the copy of the process was ended, because memory ran short")
	ErrEnded  = errors.New("the copy of the process was ended with the process, because it shares its files")
	ErrKilled = errors.New("the copy of the process was killed")
)

// Options are those of Take.
type Options struct {
	// Step, if it is not nil, is called before each request to the kernel. It is for tests.
	Step func(name string)
	// Guard, if it is not nil, removes the copy if heaplapse is killed.
	Guard *Guard
}

// Thread is a thread of the process at the moment of the fork.
type Thread struct {
	ID   int
	Name string
	// SP is its stack pointer, and TLS its thread pointer. Each is 0 if it was not found.
	SP, TLS uint64
	// Registers has the words of its other registers, including those of its vector registers.
	Registers []uint64
	// Asleep reports whether the thread was not stopped, because its system call would have ended early. Of its registers
	// only the arguments of the call are known then, and not even SP if it did not wait.
	Asleep bool
}

// Refusal is the reason why there is no snapshot of a process. The process was left alone.
type Refusal struct {
	Reason string
	// Remedy is what the user can do about it, or "".
	Remedy string
}

// TryAgain is the remedy if the process is at an unsuitable moment.
const TryAgain = "try again"

// Error returns the reason and the remedy.
func (r *Refusal) Error() string {
	if r.Remedy == "" {
		return r.Reason
	}
	return r.Reason + ": " + r.Remedy
}
