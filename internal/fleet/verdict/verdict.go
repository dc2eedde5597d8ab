// Package verdict judges a site over all hosts of a cell: those that run one build of a service in
// one night, or those that have one label.
//
// A site leaks in a cell if the mean of its confidences over the hosts is high enough. A confidence
// is the probability of a leak on one host, and the chance events of hosts differ, so that the mean
// is far surer than any host. "Any host" is no rule: of 300 sites on each of many hosts, some are
// called leaks by chance. Neither is the sum of the snapshots of all hosts, in which slow harmless
// growth becomes significant.
//
// The questions in internal/fleet/sql compute the same in SQL, with the constants of this package.
// docs/fleet.md has the tables from which they were chosen.
package verdict

// Rule is what a site must reach to leak in a cell.
type Rule struct {
	// Least is the least mean confidence over the hosts.
	Least float64
	// Gained is the least number of bytes that a host gained, on average.
	Gained int64
	// Lift is the least ratio of the mean confidence with a label to that on the reference hosts,
	// where one host with the confidence Prior is added to both sides.
	Lift, Prior float64
}

// Chosen is the rule of the questions.
var Chosen = Rule{Least: 0.4, Gained: 1 << 20, Lift: 3, Prior: 0.1}

// Host is what one host contributes. A host without the site contributes the zero value.
type Host struct {
	Confidence float64
	Gained     int64
}

// Leaks reports whether a site leaks over the hosts of a cell.
func (r Rule) Leaks(hosts []Host) bool {
	var confidence float64
	var gained int64
	for _, h := range hosts {
		confidence += h.Confidence
		gained += h.Gained
	}
	n := len(hosts)
	return n > 0 && confidence >= r.Least*float64(n) && gained >= r.Gained*int64(n)
}

// OnlyWith reports whether a site leaks on the hosts with a label, and hardly on the reference
// hosts.
func (r Rule) OnlyWith(with, reference []Host) bool {
	return len(reference) > 0 && r.Leaks(with) && r.smooth(with) >= r.Lift*r.smooth(reference)
}

// smooth is the mean confidence of the hosts and of one more.
func (r Rule) smooth(hosts []Host) float64 {
	sum := r.Prior
	for _, h := range hosts {
		sum += h.Confidence
	}
	return sum / float64(len(hosts)+1)
}
