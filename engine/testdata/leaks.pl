# Allocates from known lines. Each line with a comment of a leak keeps COUNT strings of SIZE bytes;
# it prints the frames that Perl itself sees there.
use strict;
use warnings;

my ($count) = @ARGV;
my $size = 1000;
my @kept;
my %shown;

# frames prints the callers of the first call of each name.
sub frames {
    my $name = shift;
    return if $shown{$name}++;
    my @frames;
    for (my $i = 1; my ($package, $file, $line) = caller $i - 1; $i++) {
        my $sub = (caller $i)[3];
        while (defined $sub && $sub eq '(eval)' && !defined((caller $i)[6])) { # eval of a block
            $sub = (caller ++$i)[3];
        }
        $sub = '<main>' unless defined $sub;
        $sub = '<eval>' if $sub eq '(eval)';
        push @frames, "$sub $line";
    }
    print "$name: ", join('; ', @frames), "\n";
}

sub plain {
    for (1 .. $count) { push @kept, "x" x $size; frames("plain"); } # leak plain
}

package Cache {
    sub new { return bless {}, shift }
    sub method {
        my $self = shift;
        for (1 .. $count) { push @kept, "x" x $size; main::frames("method"); } # leak method
    }
}

sub closure {
    my $f = sub {
        push @kept, "x" x $size; frames("closure"); # leak closure
    };
    $f->() for 1 .. $count;
}

sub caught {
    for (1 .. $count) {
        eval {
            push @kept, "x" x $size; frames("caught"); # leak caught
            die "expected\n";
        };
    }
}

sub by_number {
    push @kept, "x" x $size; frames("sorted"); # leak sorted
    return $a <=> $b;
}

sub sorted {
    for (1 .. $count) { my @list = sort by_number 2, 1; }
}

sub DESTROY_me::DESTROY {
    push @kept, "x" x $size; frames("destroyed"); # leak destroyed
}

sub destroyed {
    for (1 .. $count) { my $object = bless [], "DESTROY_me"; undef $object; }
}

sub fetched {
    tie my $value, "Tied";
    for (1 .. $count) { my $copy = $value; }
}

package Tied {
    sub TIESCALAR { return bless [], shift }
    sub FETCH {
        eval { 1 };
        push @kept, "x" x $size; main::frames("fetched"); # leak fetched
        return 1;
    }
}

sub evaluated {
    my $code = qq{#line 7 "made up.pl"\npush \@kept, "x" x \$size; main::frames("evaluated");};
    for (1 .. $count) { eval $code; }
}

sub down {
    my $depth = shift;
    no warnings 'recursion';
    return down($depth - 1) if $depth > 0;
    push @kept, "x" x $size; # leak recursion
}

plain();
Cache->new->method();
closure();
caught();
sorted();
destroyed();
fetched();
evaluated();
down(1000) for 1 .. $count;
