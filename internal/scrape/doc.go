// Package scrape takes the heap profiles of running services over HTTP, again and again, and keeps
// them in a directory as a series of snapshots with a manifest, as package record does for programs
// that it runs.
//
// A service that has answered once may be restarted: scrape tries again until it answers, and the
// manifest tells the time without snapshots. What the service sends is checked before it gets the
// name of a snapshot: a file of the directory is a whole heap profile.
//
// Neither messages nor the manifest contain passwords, queries of URLs or values of headers.
package scrape
