<?php
// The service of service.py in PHP: service.php KIND CAP
[$kind, $cap] = [$argv[1], (int) $argv[2]];
$held = $recent = [];

class Session {
    public function __construct(public int $key, public string $body) {}
}

function make(string $kind, int $key, int $size): mixed {
    $body = str_repeat('x', $size);
    return match ($kind) {
        'closure' => fn () => [$key, $body],
        'object' => new Session($key, $body),
        default => ['key' => $key, 'body' => $body],
    };
}

while (($line = fgets(STDIN)) !== false) {
    [$op, $a, $b] = array_pad(explode(' ', trim($line)), 3, '0');
    switch ($op) {
        case 'k':
            $held[(int) $a] = make($kind, (int) $a, (int) $b);
            if ($cap > 0) unset($held[(int) $a - $cap]);
            break;
        case 't': make($kind, 0, (int) $a); break;
        case 'd': unset($held[(int) $a]); break;
        case 'b': $recent[(int) $a] = [str_repeat('r', (int) $b)]; break;
    }
}
