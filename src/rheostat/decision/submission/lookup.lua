-- One look into the file of advice: a hash, a seek, and as few lines as share the slot. A file that is absent, cut or
-- of another format is no advice, and never an error.
local function rheostat_lookup(path, key)
  local file = io.open(path, "rb")
  if not file then return nil end
  local head = file:read(32)
  local slots = head and tonumber(head:match("^rheostat%-advice/1 (%d+) +\n$"))
  if not slots or slots < 1 then file:close(); return nil end
  local hash = 5381
  for i = 1, #key do hash = (hash * 33 + key:byte(i)) % 4294967296 end
  local found
  for step = 0, 63 do
    file:seek("set", 32 + 16 * ((hash + step) % slots))
    local place = tonumber(file:read(16) or "")
    if not place or place == 0 then break end
    file:seek("set", place)
    local line = file:read("*l") or ""
    local name, nodes, words = line:match("^([^\t]*)\t(%d+)\t([^\t]*)$")
    if name == key then found = { nodes = tonumber(nodes), words = words }; break end
  end
  file:close()
  return found
end

local function rheostat_advice(path, user, app, partition, nodes)
  if not app or not nodes then return nil end
  for _, who in ipairs({ user or "", "" }) do
    for _, where in ipairs({ partition or "", "" }) do
      local key = table.concat({ who, app, where, tostring(nodes) }, "\31")
      local advice = rheostat_lookup(path, key)
      if advice then return advice end
    end
  end
  return nil
end
