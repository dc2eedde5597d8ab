package holders

import "github.com/heaplapse/heaplapse/internal/holders/answer"

// JSON is what holds the blocks of a site.
type JSON struct {
	Looked int          `json:"looked"`
	By     []holderJSON `json:"by"`
}

type holderJSON struct {
	answer.Holder
	Text string `json:"text"`
}

// JSONOf returns what holds some blocks; nil if that is not known.
func JSONOf(h answer.Held) *JSON {
	if h.Looked == 0 {
		return nil
	}
	j := &JSON{Looked: h.Looked}
	for i := range h.By {
		j.By = append(j.By, holderJSON{h.By[i], Phrase(&h.By[i])})
	}
	return j
}
