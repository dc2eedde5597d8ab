# ruby_events.rb keep     LEAK: strings of 1 to 3 KiB in a global array, 60 a second = 120 KiB/s
# ruby_events.rb drop     NO LEAK: the last 1,000 are kept (full after 17 s at 2 MiB); what is dropped waits for the
#                         collector, which is called every 7 s: by itself it would not run before 16 MiB have been allocated, which is minutes
$events = []
RANDOM = Random.new(7)

def on_event(keep)
  $events << 'e' * RANDOM.rand(1000..3000)
  $events.shift if !keep && $events.size > 1000
end

start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
(1..).each do |n|
  on_event(ARGV[0] == 'keep')
  GC.start if ARGV[0] == 'drop' && n % 420 == 0
  wait = start + n / 60.0 - Process.clock_gettime(Process::CLOCK_MONOTONIC)
  sleep(wait) if wait > 0
end
