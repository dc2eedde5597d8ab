// Package proc reads what /proc says of a process: its parent, command, memory and mapped files. Linux only.
package proc
