-- NO LEAK: a table of the last 1,500 replies of 2 KiB (full after 15 s at 3 MiB); Lua's collector frees the others in waves. Paced by lines on stdin.
local replies, n = {}, 0

local function reply(line)
  n = n + 1
  replies[n % 1500] = { number = n, text = line .. string.rep("r", 2000 + n % 97) }
end

for line in io.lines() do
  reply(line)
end
