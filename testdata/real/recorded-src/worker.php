<?php
// A worker that runs for ever, as those of queues do.
//   worker.php keep   LEAK: Journal::note keeps the text of each of 60 jobs a second in a static array, 1.5 KB each: 90 KB/s.
//   worker.php drop   no leak: it removes the one of 400 jobs before.
class Journal {
    static array $notes = [];
    static function note(int $n, bool $keep): void {
        self::$notes[$n] = str_repeat("job $n ", 180);
        if (!$keep) unset(self::$notes[$n - 400]);
    }
}

function work(int $n): int {
    $lines = [];
    for ($i = 0; $i < 200; $i++) $lines[] = "line " . ($n * $i);
    return strlen(implode("\n", $lines));
}

$start = microtime(true);
for ($n = 1; ; $n++) {
    Journal::note($n, $argv[1] == 'keep');
    work($n);
    $wait = $start + $n / 60 - microtime(true);
    if ($wait > 0) usleep((int)($wait * 1e6));
}
