# An application that keeps what it knows about every request. LEAK=0 keeps nothing. The cache is full after two seconds.
use strict;
use warnings;
use Time::HiRes qw(sleep time);

my (@history, %pages);

sub handle {
    my ($request) = @_;
    push @history, sprintf("request %d: ", $request) . "x" x 6000;
}

sub render {
    my ($request) = @_;
    $pages{ $request % 512 } = "\0" x (16 * 1024);
}

my $leak = ($ENV{LEAK} // "") ne "0";
my ($request, $end) = (0, time + 12);
while (time < $end) {
    handle($request);
    render($request);
    pop @history unless $leak;
    $request++;
    sleep 0.002;
}
