"""A daemon that nobody else talks to: how fast it starts, what it takes when idle, how fast one reader has an event."""
import pathlib
import re
import select
import socket
import statistics
import time
import urllib.parse

from bench import Bench, cpu_seconds, percentile
from daemon import MEMORY, SQLITE, SUBSCRIBE, Daemon, message


def starts(bench: Bench) -> dict:
    taken = []
    for _ in range(5 if bench.quick else 20):
        with Daemon(bench.agentd, SQLITE) as daemon:  # not pinned: that is a process more
            taken.append(daemon.start_ms)
    return {"start_median_ms": statistics.median(taken), "start_best_ms": min(taken)}


def switches(pid: int) -> int:
    """How often its threads went to sleep by themselves: once for each waking."""
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text(), re.M)[1])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def idle(bench: Bench) -> dict:
    seconds = 2 if bench.quick else 10
    with Daemon(bench.agentd, SQLITE, bench.server_cpu) as daemon:
        time.sleep(1)
        cpu, slept = cpu_seconds(daemon.pid), switches(daemon.pid)
        time.sleep(seconds)
        cpu, slept = cpu_seconds(daemon.pid) - cpu, switches(daemon.pid) - slept
        status = pathlib.Path(f"/proc/{daemon.pid}/status").read_text()
    kib = {name: int(value) for name, value in re.findall(r"^(VmRSS|RssAnon):\s*(\d+) kB", status, re.M)}
    return {"idle_resident_mib": kib["VmRSS"] / 1024, "idle_resident_anonymous_mib": kib["RssAnon"] / 1024,
            "idle_cpu_ms_per_10s": cpu * 1e4 / seconds, "idle_wakings_per_10s": slept * 10 / seconds}


def connect(daemon: Daemon) -> socket.socket:
    address = urllib.parse.urlsplit(daemon.url)
    connection = socket.create_connection((address.hostname, address.port), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def read_until_quiet(sockets: list[socket.socket], seconds: float) -> None:
    while ready := select.select(sockets, [], [], seconds)[0]:
        for connection in ready:
            if not connection.recv(1 << 20):
                raise ConnectionError("agentd closed a connection that should stay open")


def first_events(bench: Bench, config: dict, times: int) -> list[float]:
    """From writing a SendMessage to the first byte of its first event at one idle stream, in milliseconds."""
    taken = []
    with Daemon(bench.agentd, config, bench.server_cpu) as daemon, connect(daemon) as feed, connect(daemon) as sender:
        feed.sendall(daemon.request(daemon.envelope(SUBSCRIBE, {})))
        read_until_quiet([feed], 0.3)
        for _ in range(times):
            request = daemon.request(daemon.envelope("SendMessage", message("hello")))
            begun = time.perf_counter()
            sender.sendall(request)
            if not select.select([feed], [], [], 5)[0]:
                raise TimeoutError("no event within 5 s of a SendMessage")
            taken.append((time.perf_counter() - begun) * 1e3)
            read_until_quiet([feed, sender], 0.005)
    return taken


def first_event(bench: Bench) -> dict:
    """The clock of an event counts milliseconds, which is too coarse here. From the request on is longer than from the
    push on, by the request: what holds for it holds for the push."""
    results = {}
    for name, config in (("memory", MEMORY), ("sqlite", SQLITE)):
        rounds = [first_events(bench, config, 50 if bench.quick else 200) for _ in range(bench.rounds)]
        best = min(rounds, key=lambda taken: percentile(taken, 0.99))
        results[f"first_event_{name}_p50_ms"] = percentile(best, 0.5)
        results[f"first_event_{name}_p99_ms"] = percentile(best, 0.99)
    return results
