package symbolize

import (
	"os"
	"path/filepath"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

const (
	// vdsoPath is what the kernel calls the library that it maps into every process.
	vdsoPath = "[vdso]"
	// vdsoFile stands for the image of it that the recorder kept: another kernel has another one.
	vdsoFile = "/[vdso]"
)

// keptVDSO is the image of [vdso], "" where nobody kept it.
func keptVDSO(series *series.Series, o *Options) string {
	path := filepath.Join(series.Dir(), manifest.VDSOFile)
	if o.Files != nil {
		local, err := o.Files.Find(vdsoFile)
		if err != nil {
			return ""
		}
		path = local
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
