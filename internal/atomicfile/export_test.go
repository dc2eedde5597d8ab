package atomicfile

// Resume permits writes again after RemoveUnfinished.
func Resume() { unfinished.closed = false }

// Forget forgets which directories have been searched, as a new process has.
func Forget() { unfinished.swept = nil }
