-- wrk script: POSTs a body with a fresh number in it, and checks every answer.
-- The file that BENCH_REQUEST names returns {path, parts, headers, tokens, first, expect, reject}; `parts` are the
-- pieces of the body between the numbers.
local request_of = dofile(os.getenv("BENCH_REQUEST"))
local threads = {}
local number = request_of.first
local heads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(args)
  bad, first_bad = 0, ""
  for i, token in ipairs(request_of.tokens) do
    heads[i] = {["Authorization"] = "Bearer " .. token}
    for name, value in pairs(request_of.headers) do heads[i][name] = value end
  end
end

function request()
  number = number + 1
  local body = table.concat(request_of.parts, string.format("%.0f", number))
  return wrk.format("POST", request_of.path, heads[number % #heads + 1], body)
end

local function right(status, body)
  if status ~= 200 or not string.find(body, request_of.expect, 1, true) then return false end
  for _, text in ipairs(request_of.reject) do
    if string.find(body, text, 1, true) then return false end
  end
  return true
end

function response(status, headers, body)
  if not right(status, body) then
    bad = bad + 1
    if first_bad == "" then first_bad = tostring(status) .. " " .. string.sub(body, 1, 300) end
  end
end

function done(summary, latency, requests)
  local bad, first_bad = 0, ""
  for _, thread in ipairs(threads) do
    bad = bad + thread:get("bad")
    if first_bad == "" then first_bad = thread:get("first_bad") end
  end
  local e = summary.errors
  io.write(string.format("BENCH %d %d %d %d %d %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), bad, e.connect + e.read + e.write + e.timeout))
  if first_bad ~= "" then io.write("BENCHBAD " .. string.gsub(first_bad, "[\r\n]", " ") .. "\n") end
end
