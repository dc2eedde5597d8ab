// Package text holds what all reports share: a writer of lines, numbers and names made fit for a
// terminal, Markdown and JSON, and the warnings of a series.
//
// Every JSON result starts with its schema's name and version and is described by a file in
// docs/schema, against which the tests validate it. Fields are only ever added within a version.
package text
