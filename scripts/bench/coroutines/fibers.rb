# Times a string of 130,000 bytes on the stack of the thread and on that of a fiber.
GC.disable

def measure(where)
  rounds = 2000
  clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
  start = clock.call
  rounds.times { "x" * 130_000 }
  puts format("%s %.2f", where, (clock.call - start) / rounds * 1e6)
end

measure("thread")
Fiber.new { measure("coroutine") }.resume
