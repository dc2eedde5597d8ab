// Package identity recognises an allocation site in another process or another build.
//
// Addresses mean nothing outside their process, and offsets nothing outside their build. So sites
// are compared by keys that get looser step by step, each only on what the steps before left over:
// places in files of one build ID, whole stacks of names, the frame to blame with its nearest
// callers, similar stacks with the same frame to blame, and that frame alone. Which step matched is
// kept with every match, for a reader to judge how far to trust it.
//
// Names are normalised before they are compared: compilers add clone suffixes, number their
// lambdas and give hashes to Rust functions, none of which a rebuild keeps.
package identity
