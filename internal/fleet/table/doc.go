// Package table keeps the rows of a fleet as Parquet files.
//
//	DIR/sites/night=2026-11-22/RUN.parquet    one file per run, or all.parquet once it is compacted
//	DIR/runs/night=2026-11-22/RUN.parquet
//	DIR/aliases/night=2026-11-22/NAME.parquet
//
// A file appears whole, and has the same name and the same bytes whenever the same rows are
// written, so that a part of the work that fails is simply done again. The rows of a run are
// complete once its file in runs is there: it is written last.
package table
