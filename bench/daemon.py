"""A daemon of its own, in a temporary folder and on a port of the kernel's choice, for run.py."""
import itertools
import json
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
import uuid

EVENTS = "https://agentd.dev/a2a/ext/events"
SUBSCRIBE = "agentd.events/SubscribeToEvents"
START_SECONDS = 10
STOP_SECONDS = 10


class Daemon:
    """`with Daemon(binary, config) as daemon`: listening when it begins, ended when it ends."""

    def __init__(self, binary: pathlib.Path, config: dict | None = None, cpu: int | None = None):
        """`cpu`: the only one it may run on."""
        self.binary, self.config, self.ids = binary, config or {}, itertools.count(1)
        self.pinned = [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="agentd-"))
        config = {"log": {"format": "json"}, **self.config}
        config["a2a"] = {"listen": "http://127.0.0.1:0", **config.get("a2a", {})}
        config["store"] = {"kind": "sqlite", "path": str(self.folder / "state"), **config.get("store", {})}
        (self.folder / "agentd.yaml").write_text(json.dumps(config))
        begun = time.monotonic()
        self.process = subprocess.Popen([*self.pinned, self.binary, "serve", "-c", self.folder / "agentd.yaml"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        cwd=self.folder)
        # A daemon that neither listens nor ends must not hold us: its stderr closes when it is killed.
        watchdog = threading.Timer(START_SECONDS, self.process.kill)
        watchdog.start()
        said = []
        for line in self.process.stderr:
            said.append(line.decode(errors="replace"))
            if b'"listening"' in line:
                self.start_ms = (time.monotonic() - begun) * 1000
                self.url = json.loads(line)["url"]
                break
        watchdog.cancel()
        if not hasattr(self, "url"):
            self.__exit__()
            raise RuntimeError(f"agentd did not listen; it said:\n{''.join(said)}")
        self.log = threading.Thread(target=self.process.stderr.read, daemon=True)  # or the pipe fills up
        self.log.start()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        return self.process.pid

    def envelope(self, method: str, params: dict) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params})


HEADERS = {"Content-Type": "application/json", "A2A-Version": "1.0", "A2A-Extensions": EVENTS}


def message(text: str) -> dict:
    """The params of a SendMessage that asks for `text`."""
    return {"message": {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}}
