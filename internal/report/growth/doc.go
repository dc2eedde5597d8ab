// Package growth puts into words which sites of a series grow, and whether they leak.
//
// # Contract
//
// A [Report] has a series with its verdicts, as package pipeline has judged it. It writes the same
// facts as [Report.Text] for a terminal, [Report.Markdown], [Report.JSON] and [Report.CSV], and
// gives single parts of them to the HTML page, to the screen of watch (report/live), to the tables
// of a fleet and to services that receive profiles. It reads no file and prints nothing by itself.
// It judges nothing: a number that no other package has computed is not in its texts. [Judge] calls
// package pipeline, and makes the reports.
//
// Names come from untrusted files. Texts have them without control characters (text.Clean),
// Markdown and CSV also without what their readers would take for markup or formulas. JSON has them
// as they are.
//
// # Parts
//
// Each part of the report is in a file of its own:
//
//	judge      from a judged series to the report on it
//	report     the headline: verdict, worst site or cause, what to do next; the summary below it
//	table      the sites: numbers, trend, name, call path, advice
//	explain    the sites that --explain selects; package measure has their measurements
//	notes      what was left out or is missing
//	limit      when the process reaches a memory limit
//	losses     what memcheck and LeakSanitizer found at the same sites
//	process    the verdict on one process, which outlives its series
//	processtable   a row for each process of the recording, for package processtable
//	pool       what the other processes of a program show of a site
//	json, csv, markdown   the other formats
//
// # Several processes
//
// Package diff/processes joins the verdicts on them. [Report.OwnProcess] keeps of each what the
// table needs. The report is then about the worst, and [Report.Processes] has all.
package growth
