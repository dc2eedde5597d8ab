//go:build !linux

package spool

import "os"

// unnamed creates a file without a name.
func unnamed(dir string) (*os.File, error) { return unlinked(dir) }
