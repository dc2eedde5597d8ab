// Package stats has the statistics that the comparisons below diff share: robust lines (Theil and
// Sen), the Mann-Kendall test, and least squares. Each works on slices of numbers, and leaves them
// unchanged unless it says otherwise.
//
// References: P. K. Sen, Estimates of the regression coefficient based on Kendall's tau, JASA 63
// (1968); H. B. Mann, Nonparametric tests against trend, Econometrica 13 (1945); K. H. Hamed and A.
// R. Rao, A modified Mann-Kendall trend test for autocorrelated data, J. Hydrology 204 (1998); G.
// H. Golub and C. F. Van Loan, Matrix Computations, section 5.2 (QR).
package stats
