//go:build !unix

package elffile

// Release does nothing: the file is not mapped.
func (f *File) Release() {}
