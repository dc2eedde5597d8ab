# LEAK: a hash of what has been seen, by ever new ids: 120 a second, a record of some 900 bytes each, 110 KiB/s.
use strict;
use Time::HiRes qw(sleep time);

my %seen;

sub visit {
    my ($n) = @_;
    $seen{"visitor-$n"} = { id => $n, agent => "a" x 400, pages => [ 1 .. 5 ] };
}

my $start = time;
for (my $n = 1 ; ; $n++) {
    visit($n);
    my $wait = $start + $n / 120 - time;
    sleep($wait) if $wait > 0;
}
