"""An MCP server for tests, which does on its stdin and stdout exactly what the called tool's name says, misbehaviour included.

    fake_server.py [mute | refuse | other-revision | FIRST LINE OF ITS STDERR]
"""
import json
import os
import signal
import sys

PAGE = 4
TOOLS = ["echo", "fail", "error", "die", "hang", "twice", "stranger", "garbage", "flood", "batch", "large",
         "ask", "ask_and_withdraw", "progress", "grow", "cancelled", "environment", "sample", "ping", "deaf",
         "asleep"]
SCHEMAS = {
    "echo": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "ping": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}},  # which cannot be held by the client
}
cancelled = 0


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive():
    global cancelled
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message = json.loads(line)
    if message.get("method") == "notifications/cancelled":
        cancelled += 1
    return message


def result(request, value):
    send({"id": request["id"], "result": value})


def text(request, value, **more):
    result(request, {"content": [{"type": "text", "text": value}], **more})


def ask_client(method, params):
    """Sends a request of our own and waits for its answer."""
    send({"id": "ours", "method": method, "params": params})
    while True:
        message = receive()
        if message.get("id") == "ours":
            return message


def list_tools(request):
    start = int((request.get("params") or {}).get("cursor", 0))
    page = [{"name": name, "description": f"does {name}", "inputSchema": SCHEMAS.get(name, {"type": "object"}),
             "annotations": {"readOnlyHint": name == "echo"}} for name in TOOLS[start:start + PAGE]]
    more = {"nextCursor": str(start + PAGE)} if start + PAGE < len(TOOLS) else {}
    result(request, {"tools": page, **more})


QUESTION = {"message": "Which colour?", "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}}}


def call(request):
    name, arguments = request["params"]["name"], request["params"]["arguments"]
    token = request["params"]["_meta"]["progressToken"]
    if name == "echo":
        text(request, arguments["text"])
    elif name == "fail":
        text(request, "no such file", isError=True)
    elif name == "error":
        send({"id": request["id"], "error": {"code": arguments["code"], "message": "I would rather not"}})
    elif name == "die":
        print("first line", file=sys.stderr)
        print("out of memory, token is", os.environ.get("FAKE_TOKEN"), file=sys.stderr)
        sys.exit(3)
    elif name == "hang":
        pass
    elif name == "twice":
        text(request, "once")
        text(request, "twice")
    elif name == "stranger":
        for stranger in (9999, "text", None, request["id"] + 0.5, str(request["id"]), {}):
            send({"id": stranger, "result": {"content": []}})
        text(request, "mine")
    elif name == "garbage":
        sys.stdout.buffer.write(b"Starting up...\n{\"half\": \n\xff\xfe\n[1, null]\n\n42\n{}\n{\"id\": []}\n")
        text(request, "after garbage")
    elif name == "flood":
        for number in range(20_000):
            send({"method": "notifications/message", "params": {"level": "info", "data": "line %d" % number}})
            print("complaint", number, file=sys.stderr)
        text(request, "after the flood")
    elif name == "batch":
        print(json.dumps([{"jsonrpc": "2.0", "method": "notifications/message", "params": {}},
                          {"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}}]), flush=True)
    elif name == "large":
        text(request, "x" * arguments["bytes"])
    elif name == "ask":
        text(request, json.dumps(ask_client("elicitation/create", QUESTION)["result"]))
    elif name == "ask_and_withdraw":
        send({"id": "withdrawn", "method": "elicitation/create", "params": QUESTION})
        send({"method": "notifications/cancelled", "params": {"requestId": "withdrawn"}})
    elif name == "progress":
        for step in range(1, 4):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}})
        text(request, "done")
    elif name == "grow":
        TOOLS.append("grown")
        send({"method": "notifications/tools/list_changed"})
        text(request, "grown")
    elif name == "cancelled":
        text(request, str(cancelled))
    elif name == "environment":
        text(request, json.dumps({"environment": dict(os.environ), "cwd": os.getcwd()}))
    elif name == "sample":
        text(request, str(ask_client("sampling/createMessage", {})["error"]["code"]))
    elif name == "ping":
        text(request, json.dumps(ask_client("ping", {})["result"]))
    elif name == "deaf":
        while True:
            receive()
    elif name == "asleep":
        signal.pause()
    else:
        text(request, "I am " + name)


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode not in ("", "mute", "refuse", "other-revision"):
        print(mode, file=sys.stderr)
        sys.exit(1)
    while True:
        request = receive()
        method = request.get("method")
        if method == "initialize" and mode == "mute":
            continue
        if method == "initialize" and mode == "refuse":
            send({"id": request["id"], "error": {"code": -32000, "message": "not today"}})
        elif method == "initialize":
            version = "1999-01-01" if mode == "other-revision" else "2025-03-26"
            result(request, {"protocolVersion": version, "capabilities": {"tools": {"listChanged": True}},
                             "serverInfo": {"name": "fake", "version": "1"}})
        elif method == "ping":
            result(request, {})
        elif method == "tools/list":
            list_tools(request)
        elif method == "tools/call":
            call(request)


if __name__ == "__main__":
    main()
