// Package summary turns a series into the compact form that package baseline keeps and package gate
// compares ([New]), and adds up the processes of a recording ([Pool]).
//
// The level of a site is the median of its bytes in use over the second half of the snapshots, by
// time. A snapshot that truncation hides the site from counts as 0 there; Rest has what it hides.
// Sites that are too small to be kept by call path are summed by the function that they are
// attributed to, so that a leak that is small on every call path is seen. Rest is the total minus
// the sites, so that the sites and Rest add up to the total.
package summary
