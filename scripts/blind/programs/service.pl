# The service of service.py in Perl: service.pl KIND CAP
use strict;
use warnings;
use Scalar::Util qw(weaken);

my ($kind, $cap) = @ARGV;
my (%held, @in_order, %recent);

sub make {
    my ($key, $size) = @_;
    my $thing = { key => $key, body => "x" x $size };
    $thing->{self} = $thing if $kind eq "cycle";    # until release separates it
    return $thing;
}

sub keep {
    my ($key, $size) = @_;
    if ($kind eq "array") {
        push @in_order, make($key, $size);
    } else {
        $held{$key} = make($key, $size);
        weaken($held{$key}) if $kind eq "cycle";
    }
    release($key - $cap) if $cap;
}

sub release {
    my ($key) = @_;
    if ($kind eq "array") {
        for my $i (0 .. $#in_order) {
            next if $in_order[$i]{key} != $key;
            splice(@in_order, $i, 1);
            return;
        }
    } elsif (my $thing = delete $held{$key}) {
        delete $thing->{self};
    }
}

while (my $line = <STDIN>) {
    my ($op, $x, $y) = split ' ', $line;
    if    ($op eq "k") { keep($x, $y) }
    elsif ($op eq "t") { delete make(0, $x)->{self} }
    elsif ($op eq "d") { release($x) }
    elsif ($op eq "b") { $recent{$x} = [("r" x 168) x ($y / 200 + 1)] }
}
