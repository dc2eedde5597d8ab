<?php
// Allocates from known lines. Each line with a comment of a leak keeps COUNT strings of SIZE bytes;
// it prints the frames that PHP itself sees there.
$count = (int)$argv[1];
$size = 1000;
$kept = [];
$shown = [];

// frames prints the callers of the first call of each name.
function frames(string $name): void
{
    global $shown;
    if (isset($shown[$name])) return;
    $shown[$name] = true;
    $trace = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    $out = [];
    for ($i = 0; $i < count($trace); $i++) {
        if (!isset($trace[$i]['line'])) continue; // called by a function in C
        $caller = $trace[$i + 1] ?? ['function' => '<main>'];
        $function = (isset($caller['class']) ? $caller['class'] . '::' : '') . $caller['function'];
        if ($function == 'eval') $function = '<main>';
        $out[] = "$function {$trace[$i]['line']}";
    }
    echo "$name: ", implode('; ', $out), "\n";
}

function keep($x): void { global $kept; $kept[] = $x; }

function plain(int $count, int $size): void
{
    for ($i = 0; $i < $count; $i++) { keep(str_repeat('x', $size)); frames('plain'); } # leak plain
}

class Cache
{
    function method(int $count, int $size): void
    {
        for ($i = 0; $i < $count; $i++) { keep(str_repeat('x', $size)); frames('method'); } # leak method
    }
    static function make(int $count, int $size): void
    {
        for ($i = 0; $i < $count; $i++) { keep(str_repeat('x', $size)); frames('make'); } # leak make
    }
}

function callback(int $count, int $size): void
{
    array_map(function ($i) use ($size) {
        keep(str_repeat('x', $size)); frames('callback'); # leak callback
    }, range(1, $count));
}

function generate(int $count, int $size)
{
    for ($i = 0; $i < $count; $i++) {
        keep(str_repeat('x', $size)); frames('generate'); # leak generate
        yield $i;
    }
}

function generator(int $count, int $size): void
{
    foreach (generate($count, $size) as $i);
}

function caught(int $count, int $size): void
{
    for ($i = 0; $i < $count; $i++) {
        try {
            throw new Exception('expected');
        } catch (Exception $e) {
            keep(str_repeat('x', $size)); frames('caught'); # leak caught
        }
    }
}

class Temporary
{
    function __destruct()
    {
        global $size;
        keep(str_repeat('x', $size)); frames('destroyed'); # leak destroyed
    }
}

function destroyed(int $count): void
{
    for ($i = 0; $i < $count; $i++) { $t = new Temporary; $t = null; }
}

function throwing(int $count): void
{
    for ($i = 0; $i < $count; $i++) {
        try {
            $t = new Temporary2;
            (function () { $t = new Temporary2; throw new Exception('expected'); })();
        } catch (Exception $e) {
        }
    }
}

class Temporary2
{
    function __destruct()
    {
        global $size;
        keep(str_repeat('x', $size)); # leak unwound
    }
}

function sorted(int $count, int $size): void
{
    for ($i = 0; $i < $count; $i++) {
        $list = [2, 1];
        usort($list, function ($a, $b) use ($size) {
            keep(str_repeat('x', $size)); frames('sorted'); # leak sorted
            return $a <=> $b;
        });
    }
}

function down(int $depth, int $size): void
{
    if ($depth > 0) { down($depth - 1, $size); return; }
    keep(str_repeat('x', $size)); # leak recursion
}

plain($count, $size);
(new Cache)->method($count, $size);
Cache::make($count, $size);
callback($count, $size);
generator($count, $size);
caught($count, $size);
destroyed($count);
throwing($count);
sorted($count, $size);
for ($i = 0; $i < $count; $i++) down(1000, $size);
