# An application that keeps what it knows about every request. LEAK=0 keeps nothing. The cache is full after two seconds.
HISTORY = []
PAGES = {}

def handle(request)
  HISTORY << "request #{request}: " + "x" * 6000
end

def render(request)
  PAGES[request % 512] ||= "\0" * (16 * 1024)
end

leak = ENV["LEAK"] != "0"
request = 0
finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 12
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  handle(request)
  render(request)
  HISTORY.pop unless leak
  request += 1
  GC.start if request % 100 == 0 # so that the heap is what is in use
  sleep 0.002
end
