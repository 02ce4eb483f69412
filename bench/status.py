"""What 20 clients that read `status` once a second cost those who follow the feed: the instance has 500 runs and 500
conversations, and 1,000 streams are sent 50 events a second (command.md section 4)."""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import typing
import urllib.request
import uuid

from bench import Bench, load
from daemon import COMMAND, Daemon, command_message, merged, message
from fan_out import WARM_UP_SECONDS, paced_rules, subscribe_options
from streams import OPERATOR

EACH = 500
READS_PER_SECOND = 20
PERIOD_MS = 20
CONFIG = merged(OPERATOR, {"workflows": [{"name": "short", "steps": {"done": {"finish": {"output": {"count": 2}}}}}]})
GREETING = {"when": {"text": "^hello"}, "reply": [{"text": "Hello."}]}


class Readers:
    """Reads at a steady rate while it is entered, whoever many of them there are behind it. What is read is not looked at: that
    would cost more than to make it."""

    def __init__(self, bench: Bench, read: typing.Callable[[], bytes]):
        self.cpu, self.read, self.times, self.over = bench.client_cpu, read, [], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        os.sched_setaffinity(0, {self.cpu})  # of this thread
        due = time.monotonic()
        while not self.over.wait(max(0.0, due - time.monotonic())):
            due += 1 / READS_PER_SECOND
            begun = time.monotonic()
            self.read()
            self.times.append(time.monotonic() - begun)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Files:
    """`with Files(bench, content) as url`: a server of one file, on the server's core: what reading costs whoever makes what is read."""

    def __init__(self, bench: Bench, content: bytes):
        self.command = ["taskset", "--cpu-list", str(bench.server_cpu), sys.executable, "-u", "-m", "http.server", "--bind",
                        "127.0.0.1", "0"]
        self.content = content

    def __enter__(self) -> str:
        self.folder = tempfile.TemporaryDirectory(prefix="agentd-")
        (pathlib.Path(self.folder.name) / "status").write_bytes(self.content)
        self.process = subprocess.Popen(self.command, cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)
        return re.search(r"http://[^/]*/", self.process.stdout.readline())[0] + "status"

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=30) as response:
        return response.read()


def fill(daemon: Daemon) -> None:
    for _ in range(EACH):
        daemon.command(op="workflow.run", workflow="short")
        hello = message("hello")
        hello["message"]["contextId"] = str(uuid.uuid4())
        daemon.call("SendMessage", hello)


def followed(bench: Bench, daemon: Daemon) -> dict:
    """50 events a second for a while."""
    options = ["-d", bench.seconds, "-w", WARM_UP_SECONDS, "--ts-key", '"ts"', "--ts-ms", "--clock", "real"]
    go = {**message("go"), "configuration": {"returnImmediately": True}}
    # What filled the instance is in the ring still, and not what is measured.
    return load(bench, [daemon.pid], subscribe_options(daemon, {}, bench.streams, daemon.newest()) + options,
                lambda: daemon.call("SendMessage", go))[0]


def status(bench: Bench) -> dict:
    alone, control, polled, times = [], [], [], []

    def read_status(daemon: Daemon) -> bytes:
        return daemon.answer("SendMessage", command_message({"op": "status"}), {"A2A-Extensions": COMMAND})

    def with_readers(daemon: Daemon, read: typing.Callable[[], bytes], found: list) -> list:
        with Readers(bench, read) as readers:
            found.append(followed(bench, daemon)["p99_us"])
        return readers.times

    for _ in range(bench.rounds):
        with Daemon(bench.agentd, CONFIG, bench.server_cpu, [GREETING, *paced_rules(PERIOD_MS)]) as daemon:
            fill(daemon)
            alone.append(followed(bench, daemon)["p99_us"])
            with Files(bench, read_status(daemon)) as url:
                with_readers(daemon, lambda: get(url), control)  # pylint: disable=cell-var-from-loop
            times += with_readers(daemon, lambda: read_status(daemon), polled)  # pylint: disable=cell-var-from-loop
    return {"status_p99_alone_ms": min(alone) / 1e3, "status_p99_control_ms": min(control) / 1e3,
            "status_p99_ms": min(polled) / 1e3, "status_answer_ms": statistics.median(times) * 1e3,
            "status_reads": len(times)}
