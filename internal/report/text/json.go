package text

import (
	"encoding/json"
	"io"
	"math"

	"github.com/heaplapse/heaplapse/heapfile"
)

type Counts struct {
	InuseObjects int64 `json:"inuse_objects"`
	InuseBytes   int64 `json:"inuse_bytes"`
	AllocObjects int64 `json:"alloc_objects"`
	AllocBytes   int64 `json:"alloc_bytes"`
}

func CountsOf(c heapfile.Counts) Counts {
	return Counts{c.InuseObjects, c.InuseBytes, c.AllocObjects, c.AllocBytes}
}

func Number(f float64) *float64 {
	f = Finite(f)
	return &f
}

// whole rounds to an integer that JSON readers hold exactly.
func Whole(f float64) int64 { return int64(math.Round(min(max(Finite(f), -1<<53), 1<<53))) }

// writeJSON writes an indented document.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Finite replaces what JSON cannot hold.
func Finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
