// Package proc reads properties of processes from /proc: parent, command, memory sizes and mapped
// files. It works on Linux only.
package proc
