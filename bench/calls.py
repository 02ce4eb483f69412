"""What one call costs: a push inside the daemon, GetTask, and SendMessage beside the official JavaScript SDK."""
import json
import uuid

from bench import Bench, cpu_seconds, output, requests
from daemon import MEMORY, SQLITE, Daemon, message
from peers import Missing, SdkServer

CONNECTIONS = 64
BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("hello", "{id}")})


def push(bench: Bench) -> dict:
    """src/feed/feed_bench.cc: a typed payload to a frame in a full ring, no subscriber."""
    report = json.loads(output(["taskset", "--cpu-list", bench.server_cpu, bench.build / "feed_bench",
                                "--benchmark_filter=^push_300_bytes$", "--benchmark_format=json",
                                f"--benchmark_repetitions={bench.rounds}"]))
    return {"push_us": min(run["cpu_time"] for run in report["benchmarks"] if run["run_type"] == "iteration") / 1e3}


def best(rounds: list[dict]) -> dict:
    return max(rounds, key=lambda one: one["requests_per_s"])


def send_message(bench: Bench) -> dict:
    """The daemon's answers are durable, in SQLite; the peer's tasks are in memory, and it does no more than answer."""
    ours, theirs = [], []
    for _ in range(bench.rounds):
        with Daemon(bench.agentd, SQLITE, bench.server_cpu) as daemon:
            cpu, before = cpu_seconds(daemon.pid), daemon.newest()
            ours.append(requests(bench, daemon.url, BODY, CONNECTIONS, bench.seconds, f"{uuid.uuid4()}-"))
            ours[-1]["cpu_us"] = (cpu_seconds(daemon.pid) - cpu) * 1e6 / ours[-1]["requests"]
            ours[-1]["events"] = (daemon.newest() - before) / ours[-1]["requests"]
            if ours[-1]["events"] < 1:
                raise RuntimeError("agentd answered messages without an event: it refused them")
    found = best(ours)
    results = {"send_per_s": found["requests_per_s"], "send_p50_ms": found["p50_ms"], "send_p99_ms": found["p99_ms"],
               "send_cpu_us": found["cpu_us"], "send_events_each": found["events"]}
    try:
        for _ in range(bench.rounds):
            with SdkServer(bench.server_cpu) as peer:
                theirs.append(requests(bench, peer.url, BODY, CONNECTIONS, bench.seconds, f"{uuid.uuid4()}-"))
        found = best(theirs)
        return {**results, "sdk_send_per_s": found["requests_per_s"], "sdk_send_p50_ms": found["p50_ms"],
                "sdk_send_p99_ms": found["p99_ms"]}
    except Missing as reason:
        return {**results, "missing": [f"{SdkServer.name}: {reason}"]}


def get_task(bench: Bench) -> dict:
    rounds = []
    with Daemon(bench.agentd, MEMORY, bench.server_cpu) as daemon:
        task = daemon.call("SendMessage", message("hello"))["task"]
        daemon.call("GetTask", {"id": task["id"]})  # wrk does not look into its answers
        body = daemon.envelope("GetTask", {"id": task["id"]})
        for _ in range(bench.rounds):
            cpu = cpu_seconds(daemon.pid)
            rounds.append(requests(bench, daemon.url, body, CONNECTIONS, bench.seconds))
            rounds[-1]["cpu_us"] = (cpu_seconds(daemon.pid) - cpu) * 1e6 / rounds[-1]["requests"]
    found = best(rounds)
    return {"get_task_per_s": found["requests_per_s"], "get_task_p50_ms": found["p50_ms"],
            "get_task_p99_ms": found["p99_ms"], "get_task_cpu_us": found["cpu_us"]}
