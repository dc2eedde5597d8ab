# The service of service.py in Tcl: service.tcl KIND CAP
lassign $argv kind cap
set held [dict create]

proc make {key size} {
    return [list $key [string repeat x $size]$key]
}

proc release {key} {
    global kind things held
    if {$kind eq "dict"} { dict unset held $key } else { unset -nocomplain things($key) }
}

proc keep {key size} {
    global kind things held cap
    if {$kind eq "dict"} { dict set held $key [make $key $size] } else { set things($key) [make $key $size] }
    if {$cap > 0} { release [expr {$key - $cap}] }
}

while {[gets stdin line] >= 0} {
    lassign $line op a b
    switch $op {
        k { keep $a $b }
        t { make 0 $a }
        d { release $a }
        b { set recent($a) [string repeat r $b]$a }
    }
}
