package atomicfile

// Resume permits writes again after RemoveUnfinished.
func Resume() { unfinished.closed = false }
