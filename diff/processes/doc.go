// Package processes joins the verdicts on the processes of a recording.
//
// Processes are judged by themselves, one after the other, so that only one series is in memory. [Judge] keeps what is
// needed of each. [PoolsOf] collects what all processes of a program show of a site, [Pools.Pooled] judges each process
// again with that, and [Worse] orders them.
package processes
