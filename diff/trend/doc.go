// Package trend judges one time series of a heap: whether it grows without bound, as a leak does,
// or only looks like it.
//
// Its input is numbers: points in time with the bytes and objects in use and the bytes allocated
// so far. The caller decides what they belong to, and how series are grouped.
//
// # How a series is judged
//
// [Judge] works in three steps.
//
//  1. The series is prepared (series.go): points at one time become one, a long series becomes the
//     medians of 64 windows, and time runs from 0 to 1, so that a slope is the growth over the span.
//  2. The series is described by dimensionless numbers, its [Features], which table.go lists: the
//     significance and size of its trend (line.go), how the growth is spread over the steps (steps.go), whether curves
//     that level off or lines with a knee fit better (curve.go, knee.go, cycle.go), how the bytes
//     in use follow from the bytes allocated (lifetime.go, load.go), and what sampling adds to all
//     of them (sampling.go).
//  3. A sum of decision trees (model.go), fitted to simulated processes, turns the features into
//     the probability of a leak. The label follows from it. If the series does not leak, label.go
//     names what explains the growth best.
//
// # Formulas
//
// Of n points, with Kendall's statistic S:
//
//	trend        median of (y[j]−y[i])/(t[j]−t[i]) over all i < j      Theil and Sen
//	significance Z = (S − sign S)/√Var S                               Mann and Kendall
//	             Var S is corrected for ties and autocorrelation       Hamed and Rao
//	saturation   L(t) = c + a·(1 − e^(−t/τ))                           a cache that fills
//	lifetimes    L(t) = c + κ·∫ S(t−s) dA(s) + ρ·(A(t) − A(0))         only ρ > 0 is a leak
//	residence    W = L/λ: bytes in use over the rate of allocation     Little's law
//	sampling     Var L = Σ s²·(1−p)/p, p = 1 − e^(−s/R)                one sample per R bytes
//	             Cov(L(t), L(u)) = Σ s²·(1−p)/p of what is in use at both
//
// References: P. K. Sen, Estimates of the regression coefficient based on Kendall's tau, JASA 63
// (1968); H. B. Mann, Nonparametric tests against trend, Econometrica 13 (1945); K. H. Hamed and A.
// R. Rao, A modified Mann-Kendall trend test for autocorrelated data, J. Hydrology 204 (1998); J.
// D. C. Little, A proof for the queuing formula L = λW, Operations Research 9 (1961); J. H.
// Friedman, Greedy function approximation, Annals of Statistics 29 (2001).
package trend
