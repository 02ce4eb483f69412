"""A daemon of its own, in a temporary folder and on a port of the kernel's choice, for the measurements."""
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import uuid

EVENTS = "https://agentd.dev/a2a/ext/events"
COMMAND = "https://agentd.dev/a2a/ext/command"
SUBSCRIBE = "agentd.events/SubscribeToEvents"
START_SECONDS = 30
STOP_SECONDS = 10

# Variables of this prefix are the daemon's configuration.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("AGENTD_")}
MEMORY, SQLITE = {"store": {"kind": "memory"}}, {"store": {"kind": "sqlite"}}


def merged(base: dict, over: dict) -> dict:
    both = {key: merged(base[key], over[key]) for key in base.keys() & over.keys()
            if isinstance(base[key], dict) and isinstance(over[key], dict)}
    return {**base, **over, **both}


class Daemon:
    """`with Daemon(binary, config) as daemon`: listening when it begins, ended when it ends."""

    def __init__(self, binary: pathlib.Path, config: dict | None = None, cpu: int | None = None,
                 rules: list | None = None, env: dict | None = None, args: list[str] | None = None):
        """`cpu`: the only one it may run on. `rules`: of the scripted model. `env`: variables beside ours. `args`: of
        `serve`."""
        self.binary, self.config, self.rules, self.env = binary, config or {}, rules, env or {}
        self.args = args or []
        self.ids = itertools.count(1)
        self.pinned = [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="agentd-"))
        config = {"log": {"format": "json"}, "a2a": {"listen": "http://127.0.0.1:0"},
                  "store": {"path": str(self.folder / "state")}}
        if self.rules is not None:
            (self.folder / "rules.yaml").write_text(json.dumps({"rules": self.rules}))
            config["agent"] = {"model": {"provider": "scripted", "script": "rules.yaml"}}
        (self.folder / "agentd.yaml").write_text(json.dumps(merged(config, self.config)))
        begun = time.monotonic()
        self.process = subprocess.Popen([*self.pinned, self.binary, "serve", "-c", self.folder / "agentd.yaml", *self.args],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        cwd=self.folder, env={**CLEAN, "XDG_RUNTIME_DIR": self.folder / "run", **self.env})
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
        threading.Thread(target=self.process.stderr.read, daemon=True).start()  # or the pipe fills up
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

    def request(self, body: str, headers: dict | None = None) -> bytes:
        """The bytes of a POST."""
        head = {"Host": urllib.parse.urlsplit(self.url).netloc, **HEADERS, **(headers or {}),
                "Content-Length": str(len(body.encode()))}
        return ("POST / HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in head.items()) + "\r\n" + body).encode()

    def answer(self, method: str, params: dict, headers: dict | None = None) -> bytes:
        """The answer as it came, which may be a refusal."""
        request = urllib.request.Request(self.url, self.envelope(method, params).encode(),
                                         {**HEADERS, **(headers or {})})
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.read()

    def call(self, method: str, params: dict, headers: dict | None = None) -> dict:
        """The result of a call that is answered at once."""
        answer = json.loads(self.answer(method, params, headers))
        if "result" not in answer:
            raise RuntimeError(f"agentd refused {method}: {answer}")
        return answer["result"]

    def command(self, headers: dict | None = None, **envelope: str) -> dict:
        """What an op answers."""
        return self.call("SendMessage", command_message(envelope), {**(headers or {}), "A2A-Extensions": COMMAND})

    def newest(self) -> int:
        """The number of the newest event."""
        with urllib.request.urlopen(self.url + "/events?kinds=lifecycle&follow=false", timeout=30) as response:
            for line in response:
                if line.startswith(b"data:"):
                    return json.loads(line[5:])["hello"]["seq"]
        raise RuntimeError("a stream without a hello")


HEADERS = {"Content-Type": "application/json", "A2A-Version": "1.0", "A2A-Extensions": EVENTS}


def command_message(envelope: dict) -> dict:
    return {"message": {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "extensions": [COMMAND],
                        "parts": [{"data": {"agentd": envelope}}]}}


def message(text: str, message_id: str | None = None) -> dict:
    """The params of a SendMessage that asks for `text`."""
    return {"message": {"messageId": message_id or str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}}
