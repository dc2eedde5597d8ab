-- LEAK: a table of sessions by ever new names, one per line of standard input, 1,200 B each, at 100 lines a second: 117 KiB/s.
local sessions, n = {}, 0
local function open(name)
  n = n + 1
  sessions[name .. n] = string.rep("s", 1190) .. n
end
for line in io.lines() do
  open(line)
end
