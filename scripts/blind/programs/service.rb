# The service of service.py in Ruby: service.rb KIND CAP
$kind, $cap = ARGV[0], ARGV[1].to_i
$held, $in_order, $recent = {}, [], {}

Session = Struct.new(:key, :body)

def make(key, size)
  case $kind
  when "proc"
    body = "x" * size
    -> { [key, body] }
  when "array" then [key, "x" * size]
  else Session.new(key, "x" * size)
  end
end

def release(key)
  return $held.delete(key) if $kind != "array"
  at = $in_order.index { |thing| thing[0] == key }
  $in_order.delete_at(at) if at
end

def keep(key, size)
  $kind == "array" ? $in_order << make(key, size) : $held[key] = make(key, size)
  release(key - $cap) if $cap > 0
end

while (line = STDIN.gets)
  op, a, b = line.split
  case op
  when "k" then keep(a.to_i, b.to_i)
  when "t" then make(0, a.to_i)
  when "d" then release(a.to_i)
  when "b" then $recent[a.to_i] = Array.new(b.to_i / 200 + 1) { "r" * 168 }
  end
end
