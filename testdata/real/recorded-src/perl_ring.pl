# perl_ring.pl cycle   LEAK: `visit` makes a record of some 2.5 KB that refers to itself, 40 a second: its count of references never
#                      falls to zero. 100 KiB/s and more.
# perl_ring.pl weak    no leak: the reference is weakened.
use strict;
use Scalar::Util qw(weaken);
use Time::HiRes qw(sleep time);

my $weak = $ARGV[0] eq "weak";

sub visit {
    my ($n) = @_;
    my $record = { id => $n, text => "t" x 2000, words => [ map { "word $_" } 1 .. 8 ] };
    $record->{self} = $record;
    weaken($record->{self}) if $weak;
}

my $start = time;
for (my $n = 1 ; ; $n++) {
    visit($n);
    my $wait = $start + $n / 40 - time;
    sleep($wait) if $wait > 0;
}
