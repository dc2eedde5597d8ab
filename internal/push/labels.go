package push

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Label is a label of a profile: servers find profiles by them.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// own are the names of labels that an exemplar has by itself.
var own = []string{"service_name", "host", "build_id", "pid", "site", "site_key", "verdict", partLabel}

// CheckLabel returns an error for a name that a label of the user cannot have.
func CheckLabel(name string) error {
	switch {
	case !labelName.MatchString(name):
		return fmt.Errorf("%q is no name of a label: want letters, digits and _", name)
	case strings.HasPrefix(name, "__"):
		return fmt.Errorf("%q: names that begin with __ are those of the server", name)
	case slices.Contains(own, name):
		return fmt.Errorf("%q: each profile has this label already", name)
	}
	return nil
}

// partLabel is the label of a part of a profile that was too large. Its values are of different
// series, so that a server adds them up.
const partLabel = "part"

// maxValue is the largest number of bytes of a value. Pyroscope refuses longer ones.
const maxValue = 2048

// withLabels returns all labels, sorted, without those that have no value.
func withLabels(lists ...[]Label) []Label {
	out := slices.Concat(lists...)
	out = slices.DeleteFunc(out, func(l Label) bool { return l.Value == "" })
	for i := range out {
		v := &out[i].Value
		*v = strings.ToValidUTF8((*v)[:min(len(*v), maxValue)], "")
	}
	slices.SortFunc(out, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Selector returns labels in the language of both servers: {service_name="shop", site="f"}.
func Selector(labels []Label) string {
	var parts []string
	for _, l := range labels {
		parts = append(parts, fmt.Sprintf("%s=%q", l.Name, l.Value))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
