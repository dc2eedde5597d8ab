// Package trend judges one time series of a heap: does it grow without bound, or
// does it only look like it?
//
// It knows numbers only: points in time with live bytes, live objects and
// cumulative bytes. What a series belongs to, and how series are grouped, is the
// caller's.
//
// A series is described by numbers (features.go): how significant and how large its trend is, how the growth is spread
// over the steps, what the end does, whether curves that level off fit better, and how what is live follows from what
// was allocated (lifetime.go). A model (model.go) turns them into the probability of a leak. What is plain to see
// bounds it, and explains the growth where it is no leak (trend.go).
//
// References: P. K. Sen, Estimates of the regression coefficient based on
// Kendall's tau, JASA 63 (1968); H. B. Mann, Econometrica 13 (1945); K. H. Hamed
// and A. R. Rao, A modified Mann-Kendall trend test for autocorrelated data,
// J. Hydrology 204 (1998); J. D. C. Little, Operations Research 9 (1961); J. H. Friedman,
// Greedy function approximation, Annals of Statistics 29 (2001).
package trend
