// Package sig holds what the recorder must know of signals: their names, which ones the program is to get, who sent one,
// which ones were ignored when this process started. Linux only.
package sig
