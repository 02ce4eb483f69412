"""What 20 clients that read `status` once a second cost those who follow the feed: the instance has 500 runs and 500
conversations, and 1,000 streams are sent 50 events a second (command.md section 4)."""
import statistics
import threading
import time
import typing
import uuid

from bench import Bench, load
from daemon import Daemon, merged, message
from fan_out import WARM_UP_SECONDS, paced_rules, subscribe_options
from streams import OPERATOR

EACH = 500
READS_PER_SECOND = 20
PERIOD_MS = 20
CONFIG = merged(OPERATOR, {"workflows": [{"name": "short", "steps": {"done": {"finish": {"output": {"count": 2}}}}}]})
GREETING = {"when": {"text": "^hello"}, "reply": [{"text": "Hello."}]}


class Readers:
    """Reads at a steady rate while it is entered, whoever many of them there are behind it."""

    def __init__(self, read: typing.Callable[[], object]):
        self.read, self.times, self.over = read, [], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
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
    alone, beside, times = [], [], []
    for _ in range(bench.rounds):
        for polled in (False, True):
            with Daemon(bench.agentd, CONFIG, bench.server_cpu, [GREETING, *paced_rules(PERIOD_MS)]) as daemon:
                fill(daemon)
                if not polled:
                    alone.append(followed(bench, daemon)["p99_us"])
                    continue
                with Readers(lambda d=daemon: d.command(op="status")) as readers:
                    beside.append(followed(bench, daemon)["p99_us"])
                times += readers.times
    return {"status_p99_alone_ms": min(alone) / 1e3, "status_p99_ms": min(beside) / 1e3,
            "status_answer_ms": statistics.median(times) * 1e3, "status_reads": len(times)}
