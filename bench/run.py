#!/usr/bin/env python3
"""Measures a release daemon (README.md says what, and how to read it): a table, and bench/results.json.

usage: bench/run.py <build folder> [--quick]
"""
import argparse
import json
import os
import pathlib
import platform
import re
import select
import socket
import statistics
import subprocess
import time
import urllib.parse

from daemon import HEADERS, SUBSCRIBE, Daemon, message

HERE = pathlib.Path(__file__).resolve().parent

MEMORY, SQLITE = {"store": {"kind": "memory"}}, {"store": {"kind": "sqlite"}}
SERVER_CPU, CLIENT_CPU = 0, 1


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def starts(binary: pathlib.Path, times: int) -> dict:
    taken = []
    for _ in range(times):
        with Daemon(binary, SQLITE) as daemon:
            taken.append(daemon.start_ms)
    return {"start_to_listening_median_ms": statistics.median(taken),
            "start_to_listening_p99_ms": percentile(taken, 0.99)}


def cpu_and_switches(pid: int) -> tuple[float, int]:
    """CPU seconds of all threads, and how often they went to sleep by themselves: once for each waking."""
    nanoseconds = switches = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        nanoseconds += int((task / "schedstat").read_text().split()[0])
        switches += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text(), re.M)[1])
    return nanoseconds / 1e9, switches


def idle(binary: pathlib.Path, seconds: float) -> dict:
    with Daemon(binary, SQLITE) as daemon:
        time.sleep(1)
        cpu, switches = cpu_and_switches(daemon.pid)
        time.sleep(seconds)
        cpu_after, switches_after = cpu_and_switches(daemon.pid)
        status = pathlib.Path(f"/proc/{daemon.pid}/status").read_text()
        kib = {name: int(value) for name, value in re.findall(r"^(VmRSS|RssAnon):\s*(\d+) kB", status, re.M)}
    return {"idle_resident_mib": kib["VmRSS"] / 1024, "idle_resident_anonymous_mib": kib["RssAnon"] / 1024,
            "idle_cpu_ms_per_10s": (cpu_after - cpu) * 1e4 / seconds,
            "idle_wakings_per_10s": (switches_after - switches) * 10 / seconds}


def raw_request(daemon: Daemon, body: str) -> bytes:
    head = {"Host": urllib.parse.urlsplit(daemon.url).netloc, **HEADERS, "Content-Length": str(len(body.encode()))}
    return ("POST / HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in head.items()) + "\r\n" + body).encode()


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


def latency(binary: pathlib.Path, config: dict, times: int) -> tuple[list[float], list[float]]:
    """Of the first event that a SendMessage makes, as one idle subscriber has it, in milliseconds: since its push (by
    its `ts`, which is cut to whole milliseconds, so up to one too many), and since the request was written."""
    since_push, since_request = [], []
    with Daemon(binary, config) as daemon, connect(daemon) as feed, connect(daemon) as sender:
        feed.sendall(raw_request(daemon, daemon.envelope(SUBSCRIBE, {})))
        read_until_quiet([feed], 0.3)
        for _ in range(times):
            request = raw_request(daemon, daemon.envelope("SendMessage", message("hello")))
            begun = time.perf_counter()
            sender.sendall(request)
            if not select.select([feed], [], [], 5)[0]:
                raise TimeoutError("no event within 5 s of a SendMessage")
            arrived, since = time.time() * 1e3, (time.perf_counter() - begun) * 1e3
            pushed = re.search(rb'"ts":(\d+)', feed.recv(1 << 16))
            since_push.append(max(0.0, arrived - int(pushed[1])))
            since_request.append(since)
            read_until_quiet([feed, sender], 0.005)
    return since_push, since_request


def latencies(binary: pathlib.Path, times: int) -> dict:
    results = {}
    for name, config in (("memory", MEMORY), ("sqlite", SQLITE)):
        for since, taken in zip(("push", "request"), latency(binary, config, times)):
            results[f"event_since_{since}_{name}_p50_ms"] = percentile(taken, 0.5)
            results[f"event_since_{since}_{name}_p99_ms"] = percentile(taken, 0.99)
    return results


def last_json(command: list) -> dict:
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    return json.loads(done.stdout.splitlines()[-1])


def fan_out(build: pathlib.Path, streams: int, seconds: float, rounds: int) -> dict:
    """One daemon on one core, `streams` subscribers, messages as fast as they are answered: the best round, and its
    ratio to what fanlimit reaches with frames of the same size, as many a call, in the same minute."""
    best: dict = {"deliveries_per_s": 0}
    for _ in range(rounds):
        with Daemon(build / "agentd", MEMORY, cpu=SERVER_CPU) as daemon:
            body = {"jsonrpc": "2.0", "id": "{seq}", "method": "SendMessage", "params": message("hello")}
            headers = [f"{name}: {value}" for name, value in HEADERS.items()]
            measured = last_json(
                [build / "ssebench", "--url", daemon.url + "/", "-c", streams, "-d", seconds, "-w", 1, "--json",
                 *(word for header in headers for word in ("-H", header)),
                 "--post", daemon.envelope(SUBSCRIBE, {}),
                 "--pub-url", daemon.url + "/", "--pub-conns", 4, "--pub-rates", 0, "--pub-body", json.dumps(body),
                 *(word for header in headers for word in ("--pub-header", header)),
                 "--ts-key", "", "--cpu", CLIENT_CPU, "--pid", daemon.pid])
        if measured["deliveries_per_s"] > best["deliveries_per_s"]:
            best = measured
    if not best["deliveries_per_s"]:
        raise RuntimeError("no event reached a subscriber")
    size = round(best["bytes_per_s"] / best["deliveries_per_s"])
    batch = max(1, round(best["events_per_read"]))  # what one writev of the daemon carried
    floor = max((last_json([build / "fanlimit", "writev", "--conns", streams, "--msg", size, "--batch", batch,
                            "--secs", seconds]) for _ in range(rounds)), key=lambda one: one["deliveries_per_s"])
    return {"fan_out_streams": streams, "fan_out_bytes_per_delivery": size,
            "fan_out_deliveries_per_s": best["deliveries_per_s"], "fan_out_events_per_read": best["events_per_read"],
            "fan_out_cpu_us_per_delivery": best["cpu_pct"] * 1e4 / best["deliveries_per_s"],
            "fan_out_lost": best["lost"], "fan_out_repeated": best["dups"],
            "fan_out_kib_per_stream": best["user_kb_per_conn"],
            "writev_floor_deliveries_per_s": floor["deliveries_per_s"],
            "writev_floor_cpu_us_per_delivery": floor["cpu_us_per_delivery"],
            "fan_out_ratio_to_floor": best["deliveries_per_s"] / floor["deliveries_per_s"]}


def machine() -> dict:
    model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {"cpu": model[1] if model else platform.machine(), "cores": os.cpu_count(), "kernel": platform.release()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder, such as build/release")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, to see that it runs")
    arguments = parser.parse_args()
    build, binary = arguments.build.resolve(), arguments.build.resolve() / "agentd"
    few = 10 if arguments.quick else 1
    results = {}
    for part in (lambda: starts(binary, max(3, 20 // few)), lambda: idle(binary, 10 / few),
                 lambda: latencies(binary, 500 // few),
                 lambda: fan_out(build, 1000 // few, 5 / few, 1 if arguments.quick else 3)):
        for name, value in part().items():
            results[name] = round(value, 3)
            print(f"{name:<36} {results[name]:>14,}", flush=True)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    document = {"machine": machine(), "measured": now, "results": results}
    (HERE / "results.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
