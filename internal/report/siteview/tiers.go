package siteview

import "github.com/heaplapse/heaplapse/diff/identity"

// TierTexts describe the ways to match sites of two builds.
var TierTexts = map[identity.Tier]string{
	identity.ByPlace:      "by build ID and offset",
	identity.ByFile:       "by file and offset (no build ID is known)",
	identity.ByNames:      "by the names on their stacks",
	identity.ByCallers:    "by function and next callers",
	identity.BySimilarity: "by similar stacks",
	identity.ByBlame:      "by function alone",
	identity.Unmatched:    "not matched",
}
