// Package gate compares a run with earlier good ones, and decides whether a site regressed.
//
// One night against one other is not testable: a pool of at least four gives z = (x - median) / max(1.4826 MAD, sampling noise, 2 % of the
// median). A row regressed if its change is large (bytes), notable (a share), improbable (z), and not a move: when code
// moves, what one function gains another one near it loses. A slow drift passes every comparison with last night, so a
// pinned run is compared as well.
package gate
