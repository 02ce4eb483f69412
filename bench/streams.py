"""Many streams and nothing to send, many that come back at once, readers that never read, and one owner of many."""
import json
import os
import pathlib
import re
import socket
import time
import typing
import urllib.parse

from bench import Bench, load, requests
from daemon import HEADERS, MEMORY, SUBSCRIBE, Daemon, merged, message
from fan_out import MANY, header_options, publish_options, subscribe_options

OPERATOR = merged(MEMORY, {"a2a": {"events": {"max_streams": MANY}}})
RING = 1024
READERS = 100
CONNECTIONS = 64  # that make the events
SETTLE_SECONDS = 5


def idle_memory(bench: Bench) -> dict:
    streams = 2_000 if bench.quick else 10_000
    with Daemon(bench.agentd, OPERATOR, bench.server_cpu) as daemon:
        measured = load(bench, [daemon.pid], subscribe_options(daemon, {}, streams) + ["-w", 0, "-d", 0.1])[0]
    return {"idle_streams": streams, "idle_kib_per_stream": measured["user_kb_per_conn"]}


def owners(bench: Bench) -> dict:
    """500 messages of one owner, while each of N has a stream: the daemon's CPU for a message. The owner's rule is the
    first, so that finding who calls costs the same for every N."""
    results = {}
    for count in (100, 1_000, 10_000):
        names = [f"owner-{i}" for i in range(count)]
        rules = [{"id": name, "role": "user", "match": {"bearer_ref": {"env": name.upper().replace("-", "_")}}}
                 for name in names]
        config = merged(OPERATOR, {"a2a": {"principals": rules}})
        tokens = {name.upper().replace("-", "_"): f"token-of-{name}" for name in names}
        first = {"Authorization": "Bearer token-of-owner-0"}
        with Daemon(bench.agentd, config, bench.server_cpu, env=tokens) as daemon:
            step = load(bench, [daemon.pid],
                        subscribe_options(daemon, {"Authorization": "Bearer token-of-owner-{i}"}, count) +
                        publish_options(daemon, first, "hello") +
                        ["-w", 1, "-d", 1 if bench.quick else 5, "--pub-rates", 100, "--ts-key", ""])[0]
        results[f"owners_{count}_cpu_us_per_message"] = step["cpu_s"] * 1e6 / max(1, step["published"])
        results[f"owners_{count}_messages"] = step["published"]
    return results


def reconnects(bench: Bench) -> dict:
    """All of 5,000 streams come with a cursor ten events behind the newest; the ring is full. The time is from the
    first connection's beginning to the last one's hello, of the best round."""
    streams, times = 5_000, []
    with Daemon(bench.agentd, OPERATOR, bench.server_cpu) as daemon:
        begun = daemon.newest()
        while daemon.newest() < begun + 2 * RING:
            daemon.call("SendMessage", message("hello"))
        subscribe = daemon.envelope(SUBSCRIBE, {"fromSeq": daemon.newest() - 10})
        for _ in range(bench.rounds):
            step = load(bench, [daemon.pid],
                        ["--url", daemon.url + "/", "-c", streams, "--inflight", 1000, "--post", subscribe,
                         *header_options("-H", HEADERS), "-w", 0, "-d", 0.1])[0]
            times.append((step["first_data_max_ms"], step["first_data_p50_ms"]))
    last, median = min(times)
    return {"reconnect_streams": streams, "reconnect_last_hello_ms": last, "reconnect_median_hello_ms": median}


def anonymous_kib(pid: int) -> int:
    return int(re.search(r"^RssAnon:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1])


def sockets(pid: int) -> int:
    folder, count = f"/proc/{pid}/fd", 0
    for descriptor in os.listdir(folder):
        try:
            count += os.readlink(f"{folder}/{descriptor}").startswith("socket:")
        except FileNotFoundError:
            pass  # closed since it was listed
    return count


def wait_until(reached: typing.Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not (done := reached()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return done


def subscriber(daemon: Daemon, cursor: int, headers: dict | None = None,
               receive_bytes: int | None = None) -> socket.socket:
    """A stream that has been asked for; the kernel chooses how much of it waits to be read, or `receive_bytes` do."""
    address = urllib.parse.urlsplit(daemon.url)
    reader = socket.socket()
    if receive_bytes is not None:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    reader.connect((address.hostname, address.port))
    reader.sendall(daemon.request(daemon.envelope(SUBSCRIBE, {"fromSeq": cursor}), headers))
    return reader


def stalled_reader(daemon: Daemon, cursor: int, headers: dict | None = None) -> socket.socket:
    return subscriber(daemon, cursor, headers, receive_bytes=4096)


def stalled(bench: Bench) -> dict:
    """Readers that never read, while a million events pass. The daemon has had so much traffic before that its ring,
    tables and heap are as large as they get. A closed reader is seen by the daemon's sockets: its own holds unread
    events, and behind them the end, which it therefore never sees."""
    events, timeout = (50_000, 3) if bench.quick else (1_000_000, 30)  # the daemon's default is 30 s
    config = merged(OPERATOR, {"a2a": {"events": {"write_timeout": f"{timeout}s"}},
                               "store": {"retention": {kind: {"keep_last": 100} for kind in
                                                       ("tasks", "runs", "conversations", "audit")}}})
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("hello", "{id}")})
    with Daemon(bench.agentd, config, bench.server_cpu) as daemon:
        without = sockets(daemon.pid)
        requests(bench, daemon.url, body, CONNECTIONS, bench.seconds, "before-")
        wait_until(lambda: sockets(daemon.pid) <= without, SETTLE_SECONDS)
        grown = base = anonymous_kib(daemon.pid)
        first = daemon.newest()
        readers = [stalled_reader(daemon, first) for _ in range(READERS)]
        if not wait_until(lambda: sockets(daemon.pid) >= without + READERS, SETTLE_SECONDS):
            raise RuntimeError("not all of the readers were let in")
        for number in range(events):
            requests(bench, daemon.url, body, CONNECTIONS, bench.seconds, f"during-{number}-")
            grown = max(grown, anonymous_kib(daemon.pid))
            if (pushed := daemon.newest() - first) >= events:
                break
        wait_until(lambda: sockets(daemon.pid) <= without, timeout + SETTLE_SECONDS)
        left = sockets(daemon.pid) - without
        for reader in readers:
            reader.close()
    return {"stalled_readers": READERS, "stalled_closed": READERS - left, "stalled_events": pushed,
            "stalled_growth_mib": (grown - base) / 1024}
