//go:build linux && amd64

package rss

import (
	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/pagemap"
)

// Resident returns the parts of private memory without files that are in memory. list is sorted by address.
func Resident(pid int, list []blocks.Range) (resident []blocks.Range, err error) {
	f, err := pagemap.Open(pid)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, r := range list {
		found, err := f.Present(r)
		if err != nil {
			return nil, err
		}
		for _, part := range found {
			resident = ranges(resident).add(part)
		}
	}
	return resident, nil
}
