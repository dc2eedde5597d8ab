// Package holders words what holds memory.
//
// [Phrase] is one holder, for the line below a site: "held by g_sessions (server.cc:14, std::map) → Session". [Report] is
// the answer of a look at a process.
package holders
