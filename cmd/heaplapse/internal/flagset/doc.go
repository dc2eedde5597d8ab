// Package flagset has the flags that several commands share: which snapshots are read ([Series]),
// how addresses are named ([Symbols]), which stacks count ([Stacks]) and what one site is
// ([Grouping]). A command embeds the sets that it needs. Each set defines its flags and returns the
// options that they stand for.
package flagset
