// Package sig provides what the recorder needs to handle signals: their names, the signals to
// forward to the program, the sender of a signal, and the signals that were ignored when this
// process started. It works on Linux only.
package sig
