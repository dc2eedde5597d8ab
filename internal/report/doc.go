// Package report renders results: as text for people, as JSON for programs.
//
// Every JSON result starts with its schema's name and version and is described
// by a file in docs/schema, against which the tests validate it. Fields are only
// ever added within a version.
package report
