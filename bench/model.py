"""A chat model for the measurements: it answers every question with the same few pieces, after a while. To `20 more rounds`
it wants to use a tool, which is not there, 20 times before it answers."""
import http.server
import json
import re
import threading
import time

PIECES = ["Here ", "is ", "the ", "answer."]


class Model:
    """`with Model(delay_s) as model`: listening at model.url when it begins, ended when it ends."""

    def __init__(self, delay_s: float = 0):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each answer waits 40 ms for an acknowledgement

            def do_POST(self):  # noqa: N802, the library's name
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = CALL if wants_tool(question["messages"]) else ANSWER
                time.sleep(delay_s)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def config(self) -> dict:
        return {"agent": {"model": {"provider": "openai", "model": "bench", "endpoint": self.url}}}


def stream(deltas: list[dict], reason: str) -> bytes:
    def chunk(delta: dict, why: str | None = None) -> dict:
        return {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": why}]}
    usage = {"id": "c", "choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}}
    chunks = [*(chunk(delta) for delta in deltas), chunk({}, reason), usage]
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in chunks) + b"data: [DONE]\n\n"


ANSWER = stream([{"role": "assistant", "content": ""}, *({"content": piece} for piece in PIECES)], "stop")
CALL = stream([{"role": "assistant", "tool_calls": [
    {"index": 0, "id": "call", "type": "function", "function": {"name": "none", "arguments": "{}"}}]}], "tool_calls")


def wants_tool(messages: list[dict]) -> bool:
    last = max(i for i, message in enumerate(messages) if message["role"] == "user")
    more = re.fullmatch(r"(\d+) more rounds", messages[last]["content"])
    return more is not None and sum(message["role"] == "tool" for message in messages[last:]) < int(more[1])
