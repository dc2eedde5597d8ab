// Package push sends profiles of the sites that leak to a server that stores profiles: Pyroscope or
// Parca.
//
// Such a server is no place for every snapshot of every host: it takes a few megabytes per second,
// and adds up gauges over time. So [Exemplars] chooses a few snapshots of each process, and of
// these the stacks of each site that leaks. A [Pusher] sends them. Both servers take JSON over
// HTTP, so that no library of theirs is needed.
package push
