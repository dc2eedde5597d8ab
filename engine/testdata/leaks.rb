# Allocates from known lines. Each line with a comment of a leak keeps COUNT strings of SIZE bytes;
# it prints the frames that Ruby itself sees there.
COUNT = ARGV[0].to_i
SIZE = 1000
KEPT = []
SHOWN = {}
# Methods in C are not among the frames of the engine.
IN_C = %w[each times map sort_by eval each_with_index instance_eval new call define_method loop]

def frames(name)
  return if SHOWN[name]
  SHOWN[name] = true
  all = caller_locations(1).reject { |l| IN_C.include?(l.label) }
  puts "#{name}: " + all.map { |l| "#{l.label} #{l.lineno}" }.join("; ")
end

def plain
  i = 0
  while i < COUNT
    KEPT << "x" * SIZE; frames("plain") # leak plain
    i += 1
  end
end

class Cache
  def method
    COUNT.times do
      KEPT << "x" * SIZE; frames("method") # leak method
    end
  end

  def self.make
    COUNT.times { KEPT << "x" * SIZE; frames("make") } # leak make
  end

  define_method(:defined) do
    COUNT.times do |i|
      KEPT << "x" * SIZE; frames("defined") # leak defined
    end
  end
end

def sorted
  COUNT.times do
    [2, 1].sort_by do |x|
      KEPT << "x" * SIZE; frames("sorted") # leak sorted
      x
    end
  end
end

def caught
  COUNT.times do
    begin
      raise "expected"
    rescue RuntimeError
      KEPT << "x" * SIZE; frames("caught") # leak caught
    ensure
      KEPT << "x" * SIZE; frames("ensured") # leak ensured
    end
  end
end

def fibers
  fiber = Fiber.new do
    loop { KEPT << "x" * SIZE; frames("fiber"); Fiber.yield } # leak fiber
  end
  COUNT.times { fiber.resume }
end

def threaded
  Thread.new do
    COUNT.times { KEPT << "x" * SIZE; frames("threaded") } # leak threaded
  end.join
end

def evaluated
  COUNT.times { eval('KEPT << "x" * SIZE; frames("evaluated")', binding, "made up.rb", 7) }
end

def long
  a = b = c = d = e = 0
  COUNT.times do
    a = a + 1; b = a * 2; c = a + b; d = [a, b, c, a, b, c]; e = d.map { |x| x + 1 }
    a = a + 1; b = a * 2; c = a + b; d = [a, b, c, a, b, c]; e = d.map { |x| x + 1 }
    a = a + 1; b = a * 2; c = a + b; d = [a, b, c, a, b, c]; e = d.map { |x| x + 1 }
    a = a + 1; b = a * 2; c = a + b; d = [a, b, c, a, b, c]; e = d.map { |x| x + 1 }
    KEPT << "x" * SIZE; frames("long") # leak long
    a = a + 1; b = a * 2; c = a + b; d = [a, b, c, a, b, c]; e = d.map { |x| x + 1 }
  end
end

def down(depth)
  return down(depth - 1) if depth > 0
  KEPT << "x" * SIZE # leak recursion
end

plain
Cache.new.method
Cache.make
Cache.new.defined
sorted
caught
fibers
threaded
evaluated
long
COUNT.times { GC.start if rand(50) == 0; down(1000) }
