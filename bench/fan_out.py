"""One event to many streams: one at a time, many at once, and at 50 a second; the daemon, its floor and its peers.

Streams and events are a named caller's, so that each event is checked for each stream. The daemon makes an event when
its state changes, and no request changes it just once; but the scripted model can be told to hold a tool for some
milliseconds and then to think for as many, which is one `activity` event each time. So the events come from a timer of
the core thread, in one turn of its loop each, and that thread does nothing else. What a write carried is counted in
TCP segments at the readers."""
import json
import math
import uuid

from bench import Bench, floor, load
from daemon import HEADERS, MEMORY, SUBSCRIBE, Daemon, merged, message
from peers import Missing, Nchan, NodeFeed, Peer

ALONE = 1.05  # events a write, at most, to be called one at a time: a round that begins late joins two
SHORTEST_MS = 4  # of a period: a reply's thousand events must outlast a round
MANY = 1_000_000
WARM_UP_SECONDS = 0.5

TOKEN = str(uuid.uuid4())
ALICE = merged(MEMORY, {"a2a": {
    "principals": [{"id": "alice", "role": "user", "match": {"bearer_ref": {"env": "ALICE_TOKEN"}}}],
    "events": {"max_streams": MANY, "max_streams_per_principal": MANY}}})
AUTHORIZATION = {"Authorization": f"Bearer {TOKEN}"}


def alices(bench: Bench, rules: list | None = None, args: list[str] | None = None) -> Daemon:
    return Daemon(bench.agentd, ALICE, bench.server_cpu, rules, {"ALICE_TOKEN": TOKEN}, args)


def header_options(option: str, headers: dict) -> list[str]:
    return [word for name, value in headers.items() for word in (option, f"{name}: {value}")]


def subscribe_options(daemon: Daemon, headers: dict, streams: int, from_seq: int = 0) -> list:
    return ["--url", daemon.url + "/", "-c", streams, "--post", daemon.envelope(SUBSCRIBE, {"fromSeq": from_seq}),
            *header_options("-H", {**HEADERS, **headers})]


def publish_options(daemon: Daemon, headers: dict, text: str) -> list:
    body = {"jsonrpc": "2.0", "id": "{seq}", "method": "SendMessage", "params": message(text, "m-{seq}")}
    return ["--pub-url", daemon.url + "/", "--pub-body", json.dumps(body),
            *header_options("--pub-header", {**HEADERS, **headers})]


def paced_rules(period_ms: float) -> list:
    """One event each `period_ms`, a whole number or a half, for as long as a reply may be."""
    tool, think = f"{math.floor(period_ms)}ms", f"{math.ceil(period_ms)}ms"
    return [{"reply": [{"tool": {"name": "search", "delay": tool}}, {"delay": think}] * 500}]


def paced(bench: Bench, period_ms: float, args: list[str] | None = None) -> dict:
    options = ["-d", bench.seconds, "-w", WARM_UP_SECONDS, "--ts-key", '"ts"', "--ts-ms", "--clock", "real"]
    with alices(bench, paced_rules(period_ms), args) as daemon:
        params = {**message("go"), "configuration": {"returnImmediately": True}}
        measured = load(bench, [daemon.pid], subscribe_options(daemon, AUTHORIZATION, bench.streams) + options,
                        lambda: daemon.call("SendMessage", params, AUTHORIZATION))[0]
    if not measured["deliveries"]:
        raise RuntimeError("no event reached a stream")
    return measured


def cpu_us(step: dict) -> float:
    if not step["deliveries"] or not step["cpu_s"]:
        raise RuntimeError("no event reached a stream, or the server's CPU time was not found")
    return step["cpu_s"] * 1e6 / step["deliveries"]


def at_fifty(steps: list[dict]) -> dict:
    best = min(steps, key=lambda step: step["p99_us"])
    return {"p50_ms": best["p50_us"] / 1e3, "p99_ms": best["p99_us"] / 1e3,
            "cpu_us": min(cpu_us(step) for step in steps), "per_s": best["deliveries_per_s"] / best["connections"]}


def fifty(bench: Bench) -> dict:
    rounds = [paced(bench, 20) for _ in range(bench.rounds)]
    results = {f"agentd_fifty_{name}": value for name, value in at_fifty(rounds).items()}
    return {**results, "agentd_kib_per_stream": min(one["user_kb_per_conn"] for one in rounds)}


def one_at_a_time(bench: Bench) -> dict:
    """As many as there can be: the period is shortened while every write carries one event, and lengthened when not.
    Between the rounds the same without io_uring, and the floors, with frames of the same size."""
    slow = paced(bench, 20)
    size = round(slow["bytes_per_s"] / slow["deliveries_per_s"])
    period = math.ceil(2 * 1.1 * bench.streams * cpu_us(slow) / 1e3) / 2
    alone, by_calls, floors = [], [], {"writev": [], "uringmsg": []}
    for attempt in range(2 * bench.rounds):
        measured = paced(bench, period)
        if attempt < bench.rounds:
            by_calls.append(paced(bench, period, ["--no-io-uring"]))
            for mode, found in floors.items():
                found.append(floor(bench, mode, size))
        if measured["events_per_write"] <= ALONE:
            alone.append(measured)
            period = max(SHORTEST_MS, period - 0.5)
        else:
            period = math.ceil(2 * 1.05 * period) / 2
        if len(alone) == bench.rounds:
            break
    results = {"event_bytes": size}
    for mode, found in floors.items():
        results[f"floor_{mode}_deliveries_per_s"] = max(one["deliveries_per_s"] for one in found)
        results[f"floor_{mode}_cpu_us"] = min(one["cpu_us_per_delivery"] for one in found)
    if not alone:
        return {**results, "missing": ["one event at a time: the machine was so busy that writes carried more"]}
    by_calls = [one for one in by_calls if one["events_per_write"] <= ALONE]
    if by_calls:
        best = max(by_calls, key=lambda one: one["deliveries_per_s"])
        results.update({"agentd_calls_deliveries_per_s": best["deliveries_per_s"],
                        "agentd_calls_events_per_write": best["events_per_write"],
                        "agentd_calls_cpu_us": min(map(cpu_us, by_calls))})
    best = max(alone, key=lambda one: one["deliveries_per_s"])
    return {**results, "agentd_deliveries_per_s": best["deliveries_per_s"], "agentd_cpu_us": min(map(cpu_us, alone)),
            "agentd_events_per_write": best["events_per_write"], "agentd_core_busy_percent": best["cpu_pct"],
            "agentd_repeated": sum(one["dups"] for one in alone)}


def burst(bench: Bench) -> dict:
    """Messages as fast as they are answered: what gathers while a round of writes is under way goes out in the next."""
    best: dict = {"deliveries_per_s": 0}
    for _ in range(bench.rounds):
        with alices(bench) as daemon:
            measured = load(bench, [daemon.pid],
                            subscribe_options(daemon, AUTHORIZATION, bench.streams) +
                            publish_options(daemon, AUTHORIZATION, "hello") +
                            ["-d", bench.seconds, "-w", WARM_UP_SECONDS, "--pub-conns", 4, "--ts-key", ""])[0]
        best = max(best, measured, key=lambda one: one["deliveries_per_s"])
    if not best["deliveries_per_s"]:
        raise RuntimeError("no event reached a stream")
    size = round(best["bytes_per_s"] / best["deliveries_per_s"])
    batch = max(1, round(best["events_per_write"]))
    limit = max((floor(bench, "writev", size, batch) for _ in range(bench.rounds)),
                key=lambda one: one["deliveries_per_s"])
    return {"burst_deliveries_per_s": best["deliveries_per_s"], "burst_cpu_us": cpu_us(best),
            "burst_events_per_write": best["events_per_write"], "burst_event_bytes": size,
            "burst_repeated": best["dups"],
            "burst_floor_deliveries_per_s": limit["deliveries_per_s"],
            "burst_floor_cpu_us": limit["cpu_us_per_delivery"]}


def peer(bench: Bench, name: str, make: type[Peer], size: int) -> dict:
    """At 50 events a second, and one event after the other as fast as it takes them."""
    fifty, full = [], []
    for _ in range(bench.rounds):
        with make(bench.server_cpu) as running:
            steps = load(bench, running.pids,
                         [*running.feed, "-c", bench.streams, "-d", bench.seconds, "-w", WARM_UP_SECONDS,
                          "--pub-rates", "50,0", "--pub-size", size])
        fifty.append(steps[0])
        full.append(steps[1])
    best = max(full, key=lambda one: one["deliveries_per_s"])
    return {**{f"{name}_fifty_{key}": value for key, value in at_fifty(fifty).items()},
            f"{name}_deliveries_per_s": best["deliveries_per_s"], f"{name}_cpu_us": min(map(cpu_us, full)),
            f"{name}_events_per_write": best["events_per_write"],
            f"{name}_kib_per_stream": min(one["user_kb_per_conn"] for one in full)}


def peers(bench: Bench) -> dict:
    results, missing = {}, []
    for name, make in (("nchan", Nchan), ("node", NodeFeed)):
        try:
            results.update(peer(bench, name, make, 300))
        except Missing as reason:
            missing.append(f"{make.name}: {reason}")
    if missing:
        results["missing"] = missing
    return results
