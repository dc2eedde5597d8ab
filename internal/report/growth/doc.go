// Package growth renders which sites of a series grow, as text, Markdown, JSON and on a terminal
// that follows the series.
package growth
