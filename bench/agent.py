"""What the agent's work costs: a round with a chat model, many turns at once that wait for a slow one, a long conversation."""
import pathlib
import re
import threading
import time
import typing
import uuid

from bench import Bench, cpu_seconds
from daemon import SQLITE, Daemon, merged, message
from model import Model

CROWD = 200
SLOW_S = 4


def in_context(text: str, context: str) -> dict:
    params = message(text)
    params["message"]["contextId"] = context
    return params


def rounds(bench: Bench) -> dict:
    """The daemon's CPU for a message that takes one round, everything in it: the call, the question, the store, the feed;
    and for each round more."""
    count, more = 100 if bench.quick else 500, 20
    with Model() as model, Daemon(bench.agentd, merged(SQLITE, model.config), bench.server_cpu) as daemon:
        def each(text: str, messages: int) -> float:
            cpu = cpu_seconds(daemon.pid)
            for _ in range(messages):
                daemon.call("SendMessage", in_context(text, str(uuid.uuid4())))
            return (cpu_seconds(daemon.pid) - cpu) * 1e3 / messages
        each("hello", 20)
        one = each("hello", count)
        return {"message_cpu_ms": one, "round_cpu_ms": (each(f"{more} more rounds", count // 10) - one) / more}


def status_of(daemon: Daemon) -> dict:
    return {name: int(value) for name, value in re.findall(r"^(VmRSS|Threads):\s*(\d+)",
                                                           pathlib.Path(f"/proc/{daemon.pid}/status").read_text(), re.M)}


def crowd(bench: Bench) -> dict:
    """Resident memory and threads while so many turns wait for a slow model."""
    with Model(SLOW_S) as model, Daemon(bench.agentd, merged(SQLITE, model.config), bench.server_cpu) as daemon:
        before = status_of(daemon)
        tasks = []
        for i in range(CROWD):
            params = in_context("hello", f"c{i}")
            params["configuration"] = {"returnImmediately": True}
            tasks.append(daemon.call("SendMessage", params)["task"]["id"])
        time.sleep(SLOW_S / 2)
        during = status_of(daemon)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if all(daemon.call("GetTask", {"id": task})["status"]["state"] == "TASK_STATE_COMPLETED" for task in tasks):
                return {"crowd_resident_mib": during["VmRSS"] / 1024, "crowd_threads": during["Threads"],
                        "crowd_threads_more": during["Threads"] - before["Threads"]}
            time.sleep(0.2)
    raise RuntimeError("not all turns ended")


def conversation(bench: Bench) -> dict:
    """How long a message takes in a conversation of 5,000 messages, and in a new one; and a read of somebody else's meanwhile."""
    messages = 500 if bench.quick else 2500  # each is answered
    with Model() as model, Daemon(bench.agentd, merged(SQLITE, model.config), bench.server_cpu) as daemon:
        def took(work: typing.Callable[[], object]) -> float:
            begun = time.monotonic()
            work()
            return (time.monotonic() - begun) * 1e3

        def say(context: str) -> dict:
            return daemon.call("SendMessage", in_context("hello", context))

        def read_p99() -> float:
            return sorted(took(lambda: daemon.answer("GetTask", {"id": task})) for _ in range(500))[494]

        for _ in range(messages):
            say("long")
        task = say("other")["task"]["id"]
        alone = read_p99()
        over = threading.Event()

        def go_on() -> None:
            while not over.is_set():
                say("long")

        talking = threading.Thread(target=go_on)
        talking.start()
        beside = read_p99()
        over.set()
        talking.join()
        long = sorted(took(lambda: say("long")) for _ in range(20))[10]
        fresh = sorted(took(lambda i=i: say(f"fresh{i}")) for i in range(20))[10]
        return {"long_conversation_ms": long, "fresh_conversation_ms": fresh, "long_conversation_messages": 2 * messages,
                "others_p99_alone_ms": alone, "others_p99_ms": beside}
