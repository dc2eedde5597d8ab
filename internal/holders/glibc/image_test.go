package glibc

import (
	"errors"
	"sort"
)

// image is memory in parts, by address.
type image struct{ parts []part }

type part struct {
	Start uint64
	Data  []byte
}

func (m image) Read(address uint64, b []byte) error {
	for len(b) > 0 {
		i := sort.Search(len(m.parts), func(i int) bool { return m.parts[i].Start+uint64(len(m.parts[i].Data)) > address })
		if i == len(m.parts) || m.parts[i].Start > address {
			return errors.New("no memory there")
		}
		n := copy(b, m.parts[i].Data[address-m.parts[i].Start:])
		b, address = b[n:], address+uint64(n)
	}
	return nil
}
