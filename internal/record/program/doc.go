// Package program looks at the program that is to be recorded ([Find]): its file, its interpreter, whether anything can be
// preloaded into it; and finds the library of an allocator that fits it ([Search]). Linux only.
package program
