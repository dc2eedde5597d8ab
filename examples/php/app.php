<?php
// An application that keeps what it knows about every request. LEAK=0 keeps nothing. The cache is full after two seconds.

$history = [];
$pages = [];

function handle(int $request): void
{
    global $history;
    $history[] = "request $request: " . str_repeat("x", 6000);
}

function render(int $request): void
{
    global $pages;
    $pages[$request % 512] = str_repeat("\0", 16 * 1024);
}

$leak = getenv("LEAK") !== "0";
$request = 0;
$end = microtime(true) + 12;
while (microtime(true) < $end) {
    handle($request);
    render($request);
    if (!$leak) {
        array_pop($history);
    }
    $request++;
    usleep(2000);
}
