// Package grow makes slices larger that take much memory, and asks before.
package grow

import "unsafe"

// large is the size in bytes from which slices grow by a quarter at a time, after a check.
const large = 1 << 20

// Room returns s with room for at least one more element. If s is large and check is not nil, check
// is called with the number of bytes before they are allocated. Its error is returned.
func Room[T any](s []T, check func(more int64) error) ([]T, error) {
	if len(s) < cap(s) {
		return s, nil
	}
	var zero T
	if uintptr(cap(s))*unsafe.Sizeof(zero) < large || check == nil {
		return append(s, zero)[:len(s)], nil
	}
	n := cap(s) + cap(s)/4
	if err := check(int64(n) * int64(unsafe.Sizeof(zero))); err != nil {
		return s, err
	}
	return append(make([]T, 0, n), s...), nil
}

// Append appends v to s. It returns an error of check, as [Room] does.
func Append[T any](s []T, v T, check func(more int64) error) ([]T, error) {
	s, err := Room(s, check)
	if err != nil {
		return s, err
	}
	return append(s, v), nil
}
