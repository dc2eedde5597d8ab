package convert

import (
	"path/filepath"

	"github.com/heaplapse/heaplapse/heapfile/filename"
)

// BaseName returns the base name of a snapshot without its extensions: leaky.0001 for
// dir/leaky.0001.heap.gz. Output files are named after it.
func BaseName(snapshot string) string {
	stem, _ := filename.CutExtension(filepath.Base(snapshot))
	return stem
}
