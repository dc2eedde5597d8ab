// Package gate renders whether a run regressed, in the forms that people and CI systems read: text,
// JSON, Markdown, JUnit, SARIF and pprof.
package gate
