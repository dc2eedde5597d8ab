// Package spelling finds the word that a mistyped one stands for.
package spelling

import (
	"slices"
	"strings"
)

// Completed returns the only word that begins with a prefix; "" if there are none or several.
func Completed(prefix string, words []string) string {
	found := ""
	for _, w := range words {
		switch {
		case prefix == "" || !strings.HasPrefix(w, prefix) || w == found:
		case found != "":
			return ""
		default:
			found = w
		}
	}
	return found
}

// Nearest returns the word that a mistyped one most likely stands for; "" if none is like it.
func Nearest(mistyped string, words []string) string {
	const most = 2 // edits
	best, edits := "", most+1
	for _, w := range slices.Sorted(slices.Values(words)) {
		if n := distance(mistyped, w); n < edits {
			best, edits = w, n
		}
	}
	if 2*edits >= len(mistyped) {
		return ""
	}
	return best
}

// distance returns the least number of edits that turn one word into the other: a letter more, less
// or another one, or two neighbours exchanged.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			other := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				other++
			}
			rows[i][j] = min(other, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
