# window.tcl keep   LEAK: an array by ever new keys, 80 a second of 1,400 B: 110 KiB/s.
# window.tcl drop   no leak: the element of 900 before is unset.
set start [clock microseconds]
proc note {n} {
    global notes
    set notes($n) [string repeat n 1400]$n
    if {[lindex $::argv 0] eq "drop"} { unset -nocomplain notes([expr {$n - 900}]) }
}
for {set n 1} 1 {incr n} {
    note $n
    set wait [expr {($start + $n * 1000000 / 80 - [clock microseconds]) / 1000}]
    if {$wait > 0} { after $wait }
}
