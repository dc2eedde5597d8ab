-- The service of service.py in Lua: service.lua KIND CAP
local kind, cap = arg[1], tonumber(arg[2])
local held, recent = {}, {}

local function make(key, size)
  if kind == "closure" then
    local body = {}
    for i = 1, size // 16 do body[i] = key end
    return function() return key, body end
  elseif kind == "string" then
    return key .. string.rep("x", size)
  end
  return { key = key, body = { string.rep("x", size // 2) .. key, string.rep("y", size // 2) .. key } }
end

local function release(key)
  held[key] = nil
end

local function keep(key, size)
  held[key] = make(key, size)
  if cap > 0 then release(key - cap) end
end

for line in io.lines() do
  local op, a, b = line:match("(%a) ?(%d*) ?(%d*)")
  a, b = math.tointeger(a), math.tointeger(b)
  if op == "k" then keep(a, b)
  elseif op == "t" then make(0, a)
  elseif op == "d" then release(a)
  elseif op == "b" then recent[a] = { string.rep("r", b) .. a }
  end
end
