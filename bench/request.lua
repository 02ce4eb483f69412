-- For wrk: POSTs of a JSON-RPC body. usage: wrk … -s request.lua URL -- BODY [PREFIX]
-- With PREFIX, every request has a message id of its own: PREFIX and a number stand for {id} in BODY.
function init(args)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["A2A-Version"] = "1.0"
  wrk.body = args[1]
  local prefix, sent = args[2], 0
  if prefix then
    local before, after = args[1]:match("^(.-){id}(.*)$")
    function request()
      sent = sent + 1
      return wrk.format(nil, nil, nil, before .. prefix .. sent .. after)
    end
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests_per_s":%.1f,"requests":%d,"failed":%d,"p50_ms":%.3f,"p99_ms":%.3f}\n',
    summary.requests / summary.duration * 1e6, summary.requests,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
