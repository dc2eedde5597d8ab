//go:build linux

package rss

import (
	"bytes"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// zeroInHugePages returns the bytes of the small pages that have only zeros, in transparent huge pages. Most
// of them were never written to, and are resident because the kernel gives 2 MiB at once. Above a limit, it reads
// huge pages at equal distances.
func (a *account) zeroInHugePages(memory blocks.Memory) uint64 {
	const most = 1024
	var list []uint64
	for _, m := range a.kernel {
		if !m.isAnonymous() || m.huge == 0 {
			continue
		}
		for r := range a.resident.within(m.Range) {
			for at := (r.Start + hugePage - 1) &^ (hugePage - 1); at+hugePage <= r.End; at += hugePage {
				list = append(list, at)
			}
		}
	}
	step := (len(list) + most - 1) / most
	content, none := make([]byte, hugePage), make([]byte, pageSize)
	var zero, read uint64
	for i := 0; i < len(list); i += step {
		if memory.Read(list[i], content) != nil {
			continue
		}
		read++
		for at := 0; at < hugePage; at += pageSize {
			if bytes.Equal(content[at:at+pageSize], none) {
				zero += pageSize
			}
		}
	}
	if read == 0 {
		return 0
	}
	// Not all of them need be huge pages.
	return min(zero*uint64(len(list))/read, uint64(a.HugePages))
}
