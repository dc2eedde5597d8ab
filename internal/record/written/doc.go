// Package written reads what the engines write during a recording: the names, headers and mappings
// of snapshots ([ReadSnapshot]), and the events files of the built-in engine ([Events]). It works
// on Linux only.
package written
