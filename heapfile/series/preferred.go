package series

import "cmp"

// MinSnapshots is the least number of snapshots for a verdict on a process.
const MinSnapshots = 6

// preferred chooses one of several processes and returns the reason. It cannot judge them. What
// comes nearest is the growth in the later half of the snapshots: a process that has loaded its
// program, such as the parent of a service's workers, does not grow any more.
func preferred(processes []Process) (index int, why string) {
	for i := range processes {
		if compare(&processes[i], &processes[index]) > 0 { // the first of equals is chosen
			index = i
		}
	}
	if processes[index].laterGrowth > 0 {
		return index, "its heap grew most in the later half of its snapshots"
	}
	if processes[index].Files >= MinSnapshots {
		return index, "no heap grew lately, and of those with enough snapshots it has the largest"
	}
	return index, "no heap grew lately, and of those with most snapshots it has the largest"
}

// compare is positive if p is chosen rather than q. Snapshots of goroutines and those that are too
// few for a verdict come last; of the latter, the number decides.
func compare(p, q *Process) int {
	few := func(p *Process) int { return min(p.Files, MinSnapshots) }
	return cmp.Or(
		compareBool(!p.Goroutines, !q.Goroutines),
		compareBool(p.Files >= MinSnapshots, q.Files >= MinSnapshots),
		compareBool(p.PeakInuse > 0, q.PeakInuse > 0), // a parent that was attached to may allocate nothing
		cmp.Compare(p.laterGrowth, q.laterGrowth),
		cmp.Compare(few(p), few(q)),
		cmp.Compare(p.PeakInuse, q.PeakInuse),
		cmp.Compare(p.Files, q.Files),
	)
}

// compareBool is positive if only p is true, and negative if only q is.
func compareBool(p, q bool) int {
	switch {
	case p == q:
		return 0
	case p:
		return 1
	}
	return -1
}

// laterGrowth returns by how many bytes a heap of these sizes grew in the later half; 0 if it
// shrank. The sizes at the exit of a program that frees its memory do not count.
func laterGrowth(inuse []int64) int64 {
	last := len(inuse) - 1
	for Freed(last+1, func(i int) int64 { return inuse[i] }) {
		last--
	}
	if last < 0 {
		return 0
	}
	return max(0, inuse[last]-inuse[last/2])
}
