// Package sql has the questions about a fleet, as SQL that several engines run, and the definitions
// of the tables for each engine.
//
// Engines disagree on medians and on the rounding of halves: the questions use row_number and
// floor. Every column of an inner SELECT has a name with AS, which ClickHouse needs where tables
// are joined.
package sql

import "embed"

// Files are the questions, NAME.sql, the tables, engines/ENGINE.sql, and what several questions
// have in common, parts/PART.sql. nearest/NAME.sql is asked if a question has no rows. In a
// question ${CELLS} stands for parts/cells.sql, and ${RUN_COLUMNS} for parts/run-columns.sql. The
// names without a part are the constants of package verdict.
//
// A question that uses the parts defines asked_runs, with ${RUN_COLUMNS}, and for ${CELLS} also
// asked_sites, with ${SITE_COLUMNS}: the rows that it is about.
//
//go:embed *.sql engines/*.sql nearest/*.sql parts/*.sql
var Files embed.FS
