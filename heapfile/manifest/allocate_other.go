//go:build !linux

package manifest

import "os"

// allocate reports that blocks cannot be allocated on this system.
func allocate(*os.File, int64) bool { return false }
