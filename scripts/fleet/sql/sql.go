// Package sql has the questions about a fleet, as SQL that several engines run, and the definitions of
// the tables for each engine.
package sql

import "embed"

// Files are the questions, NAME.sql, and the tables, engines/ENGINE.sql.
//
//go:embed *.sql engines/*.sql
var Files embed.FS
