// Package verdict has the verdicts: what is said of a site, of a series, and what the latter rests
// on.
//
// Two tables have all of it: names, order, wording, colour, exit status. Other packages ask the
// tables and name no verdict in text. The JSON schemas, docs/verdict.md and the colours of the
// report page are generated from them: go test ./diff/verdict -update, then make assets.
//
// Names are in JSON and in tables of users: they do not change.
package verdict
