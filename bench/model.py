"""A chat model for the measurements: it answers every question with the same few pieces, after a while. To `20 more rounds`
it wants to use a tool, which is not there, 20 times before it answers.

usage: bench/model.py DELAY_SECONDS        prints its URL when it listens, and ends with its input
"""
import http.server
import json
import re
import subprocess
import sys
import threading
import time

PIECES = ["Here ", "is ", "the ", "answer."]


class Model:
    """`with Model(delay_s) as model`: a process of its own, listening at model.url when it begins, ended when it ends."""

    def __init__(self, delay_s: float = 0):
        self.command = [sys.executable, __file__, str(delay_s)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=10)

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


def serve(delay_s: float) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or each answer waits 40 ms for an acknowledgement

        def do_POST(self):  # noqa: N802, the library's name
            question = self.rfile.read(int(self.headers["Content-Length"]))
            # To read what nothing depends on would cost more than all else.
            body = CALL if b" more rounds" in question and wants_tool(json.loads(question)["messages"]) else ANSWER
            time.sleep(delay_s)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    serve(float(sys.argv[1]))
