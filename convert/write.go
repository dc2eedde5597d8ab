package convert

import (
	"path/filepath"

	"github.com/heaplapse/heaplapse/heapfile/series"
)

// BaseName returns the name of the files that are made from a snapshot, without an extension: leaky.0001 for
// dir/leaky.0001.heap.gz.
func BaseName(snapshot string) string {
	base := series.TrimCompression(filepath.Base(snapshot))
	if ext := filepath.Ext(base); ext == ".heap" {
		base = base[:len(base)-len(ext)]
	}
	return base
}
