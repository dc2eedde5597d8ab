package text

import (
	"encoding/json"
	"io"
	"math"
)

// Counts are heapfile.Counts in JSON.
type Counts struct {
	InuseObjects int64 `json:"inuse_objects"`
	InuseBytes   int64 `json:"inuse_bytes"`
	AllocObjects int64 `json:"alloc_objects"`
	AllocBytes   int64 `json:"alloc_bytes"`
}

// Number returns a pointer to Finite(f), for a field that may be null.
func Number(f float64) *float64 {
	f = Finite(f)
	return &f
}

// Whole rounds f to an integer that JSON readers hold exactly.
func Whole(f float64) int64 { return int64(math.Round(min(max(Finite(f), -1<<53), 1<<53))) }

// WriteJSON writes v as an indented document.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Finite returns f, or 0 if f is NaN or infinite, which JSON cannot represent.
func Finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
