// Package diff renders what changed between snapshots, as text and JSON.
package diff
