// Package siteview describes allocation sites: the frame that a site is attributed to, its callers,
// the advice on it, and what to do where names are missing.
package siteview
