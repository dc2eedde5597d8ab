package text

// Common is the number of elements that two lists begin with.
func Common[E comparable](a, b []E) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
