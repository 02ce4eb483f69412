"""A chat model for the measurements: it answers every question with the same few pieces, after a while."""
import http.server
import json
import threading
import time

PIECES = ["Here ", "is ", "the ", "answer."]


class Model:
    """`with Model(delay_s) as model`: listening at model.url when it begins, ended when it ends."""

    def __init__(self, delay_s: float = 0):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks()) + b"data: [DONE]\n\n"

            def do_POST(self):  # noqa: N802, the library's name
                self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(delay_s)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(self.body)))
                self.end_headers()
                self.wfile.write(self.body)

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


def chunks() -> list[dict]:
    def chunk(delta: dict, reason: str | None = None) -> dict:
        return {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    usage = {"id": "c", "choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}}
    return [chunk({"role": "assistant", "content": ""}), *(chunk({"content": piece}) for piece in PIECES), chunk({}, "stop"), usage]
