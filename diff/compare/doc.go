// Package compare compares two snapshots, of one process or of different processes and builds, site by site
// ([Snapshots]), and three snapshots of one process ([Persist]).
package compare
