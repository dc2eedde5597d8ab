// Package identity recognises an allocation site in another process or another build.
//
// Addresses mean nothing outside their process, and offsets nothing outside their build. So sites
// are matched in tiers, by keys that get looser from tier to tier, each among the sites that the
// tiers before left over:
//
//	ByPlace       build ID and offset of every frame
//	ByFile        path and offset of every frame, of files without a build ID that seem to be the same
//	ByNames       every function on the stack
//	ByCallers     the function that the site is attributed to and its next four callers, without template arguments
//	BySimilarity  the same function, and four fifths of all functions on both stacks
//	ByBlame       the same function
//
// Where two sides cannot be compared, as on ten thousand hosts, [KeysOf] gives a key by which equal
// sites are found.
//
// The tier is kept with every match, so that a reader can judge how far to trust it. Packages
// compare and gate both match with [Pair]; there are no other rules of matching.
//
// Names are normalised before they are compared ([Normalize]): compilers add clone suffixes, number
// lambdas and append hashes to the names of Rust functions, and all of these change with a rebuild.
package identity
