"""What must be reached, and the table that says whether it was: one row for each requirement."""
import dataclasses
import typing

MOVED = 1.1  # times what it was, at most, to be called the same
FLAT = 1.25  # times the cost with a hundredth of the owners, at most, to be called flat


@dataclasses.dataclass(frozen=True)
class Row:
    what: str
    must: str
    stretch: str
    needs: tuple[str, ...]  # results without which there is nothing to say
    value: typing.Callable[[dict], str]
    reached: typing.Callable[[dict], tuple[bool, bool] | None]  # must, stretch; None: cannot be told
    beside: typing.Callable[[dict], str] = lambda r: ""


def at_least(value: float, must: float, stretch: float) -> tuple[bool, bool]:
    return value >= must, value >= stretch


def at_most(value: float, must: float, stretch: float) -> tuple[bool, bool]:
    return value <= must, value <= stretch


def many(value: float) -> str:
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value:,.0f}"


def against(ours: float, results: dict, key: str, name: str) -> str:
    """`0.93 of nchan`, or nothing when it was not measured."""
    return f"{ours / results[key]:.2f} of {name}" if results.get(key) else f"{name} not measured"


def cheaper_than_peers(r: dict) -> bool:
    return all(r["agentd_cpu_us"] < r[f"{peer}_cpu_us"] for peer in ("nchan", "node") if f"{peer}_cpu_us" in r)


ROWS = [
    Row("deliveries/s, one edge thread, 1,000 streams, one event at a time", "0.9 of `writev`", "0.85 of `uringmsg`",
        ("agentd_deliveries_per_s", "floor_writev_deliveries_per_s"),
        lambda r: f"{many(r['agentd_deliveries_per_s'])} ({r['agentd_events_per_write']:.2f} events a write)",
        lambda r: (r["agentd_deliveries_per_s"] >= 0.9 * r["floor_writev_deliveries_per_s"],
                   r["agentd_deliveries_per_s"] >= 0.85 * r["floor_uringmsg_deliveries_per_s"]),
        lambda r: ", ".join([
            against(r["agentd_deliveries_per_s"], r, "floor_writev_deliveries_per_s", "`writev`"),
            against(r["agentd_deliveries_per_s"], r, "floor_uringmsg_deliveries_per_s", "`uringmsg`")])
        + f"; core {r['agentd_core_busy_percent']:.0f}% busy"),
    Row("CPU per delivery, with envelope and visibility", "6.5 us, below nchan and Node", "4.5 us",
        ("agentd_cpu_us",), lambda r: f"{r['agentd_cpu_us']:.2f} us",
        lambda r: (r["agentd_cpu_us"] <= 6.5 and cheaper_than_peers(r), r["agentd_cpu_us"] <= 4.5),
        lambda r: ", ".join(against(r["agentd_cpu_us"], r, f"{key}_cpu_us", name) for key, name in
                            (("floor_writev", "`writev`"), ("nchan", "nchan"), ("node", "Node")))),
    Row("burst or catch-up, 8 or more events pending", "1 M deliveries/s", "2 M", ("burst_deliveries_per_s",),
        lambda r: f"{many(r['burst_deliveries_per_s'])} ({r['burst_events_per_write']:.0f} events a write, "
                  f"{r['burst_cpu_us']:.2f} us each)",
        lambda r: at_least(r["burst_deliveries_per_s"] if r["burst_events_per_write"] >= 8 else 0, 1e6, 2e6),
        lambda r: against(r["burst_deliveries_per_s"], r, "burst_floor_deliveries_per_s", "`writev`, as many a call")),
    Row("p99 at 50 events/s, 1,000 streams", "8 ms", "5 ms", ("agentd_fifty_p99_ms",),
        lambda r: f"{r['agentd_fifty_p99_ms']:.1f} ms (p50 {r['agentd_fifty_p50_ms']:.1f})",
        lambda r: at_most(r["agentd_fifty_p99_ms"], 8, 5),
        lambda r: ", ".join(against(r["agentd_fifty_p99_ms"], r, f"{key}_fifty_p99_ms", name)
                            for key, name in (("nchan", "nchan"), ("node", "Node")))),
    Row("one owner's event among 10,000 owners with a stream each", "flat in the number of owners", "",
        ("owners_10000_cpu_us_per_message",),
        lambda r: f"{r['owners_10000_cpu_us_per_message']:,.0f} us of CPU a message",
        lambda r: at_most(r["owners_10000_cpu_us_per_message"] / r["owners_100_cpu_us_per_message"], FLAT, FLAT),
        lambda r: f"{r['owners_100_cpu_us_per_message']:,.0f} us with 100 owners, "
                  f"{r['owners_1000_cpu_us_per_message']:,.0f} us with 1,000"),
    Row("push to an idle local stream, one subscriber", "p99 under 1 ms", "", ("first_event_memory_p99_ms",),
        lambda r: f"under {r['first_event_memory_p99_ms']:.2f} ms (p50 {r['first_event_memory_p50_ms']:.2f})",
        lambda r: at_most(r["first_event_memory_p99_ms"], 1, 1),
        lambda r: f"{r['first_event_sqlite_p99_ms']:.2f} ms with a commit before it"),
    Row("user memory per idle stream", "1 KiB", "0.3 KiB", ("idle_kib_per_stream",),
        lambda r: f"{r['idle_kib_per_stream']:.2f} KiB ({r['idle_streams']:,} streams)",
        lambda r: at_most(r["idle_kib_per_stream"], 1, 0.3),
        lambda r: ", ".join(f"{name} {r[f'{key}_kib_per_stream']:.1f} KiB" for key, name in
                            (("nchan", "nchan"), ("node", "Node")) if f"{key}_kib_per_stream" in r)),
    Row("100 readers that never read, 1 M events", "1 MiB growth, and they are closed", "0", ("stalled_growth_mib",),
        lambda r: f"{r['stalled_growth_mib']:.2f} MiB, {r['stalled_closed']} of {r['stalled_readers']} closed",
        lambda r: (r["stalled_growth_mib"] <= 1 and r["stalled_closed"] == r["stalled_readers"],
                   r["stalled_growth_mib"] <= 0 and r["stalled_closed"] == r["stalled_readers"]),
        lambda r: f"{many(r['stalled_events'])} events"),
    Row("streams of a session that is revoked, 5,000 events/s", "the last byte within 100 ms", "", ("revoke_written_ms",),
        lambda r: f"{abs(r['revoke_written_ms']):.1f} ms {'before' if r['revoke_written_ms'] < 0 else 'after'} the answer",
        lambda r: at_most(r["revoke_written_ms"], 100, 100),
        lambda r: f"{r['revoke_streams']} streams; the last reader, of {r['revoke_stalled']} more that had not read, sees "
                  f"the end after {r['revoke_seen_ms']:.0f} ms; {many(r['revoke_events_per_s'])} events/s"),
    Row("p99 at 50 events/s, while `status` of 500 runs and 500 conversations is read 20 times a second", "does not move", "",
        ("status_p99_ms",), lambda r: f"{r['status_p99_ms']:.1f} ms",
        lambda r: at_most(r["status_p99_ms"], MOVED * r["status_p99_control_ms"], MOVED * r["status_p99_alone_ms"]),
        lambda r: f"{r['status_p99_alone_ms']:.1f} ms when nobody reads, {r['status_p99_control_ms']:.1f} ms when as much is "
                  f"read from a file; an answer takes {r['status_answer_ms']:.0f} ms"),
    Row("5,000 reconnects with a cursor, ring full", "every hello within 0.5 s", "0.25 s", ("reconnect_last_hello_ms",),
        lambda r: f"{r['reconnect_last_hello_ms'] / 1e3:.2f} s",
        lambda r: at_most(r["reconnect_last_hello_ms"], 500, 250),
        lambda r: f"median {r['reconnect_median_hello_ms'] / 1e3:.2f} s"),
    Row("push itself, event of 300 bytes, no subscriber", "3 us", "1 us", ("push_us",),
        lambda r: f"{r['push_us']:.2f} us", lambda r: at_most(r["push_us"], 3, 1)),
    Row("SendMessage, scripted model, durable, 64 connections", "3 times the SDK server", "10 times", ("send_per_s",),
        lambda r: f"{many(r['send_per_s'])}/s (p99 {r['send_p99_ms']:.1f} ms)",
        lambda r: at_least(r["send_per_s"] / r["sdk_send_per_s"], 3, 10) if "sdk_send_per_s" in r else None,
        lambda r: f"{r['send_per_s'] / r['sdk_send_per_s']:.1f} times {many(r['sdk_send_per_s'])}/s in memory"
        if "sdk_send_per_s" in r else "the SDK server was not measured"),
    Row("GetTask", "40,000/s on one edge thread", "100,000/s", ("get_task_per_s",),
        lambda r: f"{many(r['get_task_per_s'])}/s", lambda r: at_least(r["get_task_per_s"], 4e4, 1e5),
        lambda r: f"{r['get_task_cpu_us']:.1f} us of CPU each"),
    Row("start to listening, empty store", "20 ms", "10 ms", ("start_median_ms",),
        lambda r: f"{r['start_median_ms']:.1f} ms", lambda r: at_most(r["start_median_ms"], 20, 10),
        lambda r: f"best {r['start_best_ms']:.1f} ms"),
    Row("idle resident memory", "16 MiB", "8 MiB", ("idle_resident_mib",),
        lambda r: f"{r['idle_resident_mib']:.1f} MiB", lambda r: at_most(r["idle_resident_mib"], 16, 8),
        lambda r: f"of it {r['idle_resident_anonymous_mib']:.1f} MiB of its own, the rest is the binary"),
    Row("idle CPU, no streams", "nothing wakes more often than once in 10 s", "", ("idle_wakings_per_10s",),
        lambda r: f"{r['idle_wakings_per_10s']:.0f} wakings in 10 s",
        lambda r: at_most(r["idle_wakings_per_10s"], 1, 1), lambda r: f"{r['idle_cpu_ms_per_10s']:.1f} ms of CPU"),
    Row("CPU of the daemon for a round of a chat model", "1 ms", "0.5 ms", ("round_cpu_ms",),
        lambda r: f"{r['round_cpu_ms']:.2f} ms", lambda r: at_most(r["round_cpu_ms"], 1, 0.5),
        lambda r: f"{r['message_cpu_ms']:.2f} ms for a message that takes one, all in it, durable twice"),
    Row("200 turns at once that wait for a slow model", "100 MB, 4 threads beyond the edges", "50 MB",
        ("crowd_resident_mib", "crowd_threads"),
        lambda r: f"{r['crowd_resident_mib']:.0f} MiB, {r['crowd_threads']:.0f} threads in all",
        lambda r: (r["crowd_resident_mib"] < 95 and r["crowd_threads_more"] <= 4, r["crowd_resident_mib"] < 47)),
    Row("p99 of somebody else's GetTask, while a conversation of 5,000 messages goes on", "does not grow", "",
        ("others_p99_ms",), lambda r: f"{r['others_p99_ms']:.1f} ms",
        lambda r: at_most(r["others_p99_ms"], MOVED * r["others_p99_alone_ms"], MOVED * r["others_p99_alone_ms"]),
        lambda r: f"{r['others_p99_alone_ms']:.1f} ms without; a message in it takes {r['long_conversation_ms']:.1f} ms, "
                  f"in a new one {r['fresh_conversation_ms']:.1f} ms"),
]


def markdown_row(row: Row, results: dict) -> str:
    if any(key not in results for key in row.needs):
        return f"| {row.what} | {row.must} | {row.stretch} | not measured | | |"
    must, stretch = row.reached(results) or (None, None)
    met = "" if must is None else "**no**" if not must else "stretch" if stretch and row.stretch else "yes"
    return f"| {row.what} | {row.must} | {row.stretch} | {row.value(results)} | {met} | {row.beside(results)} |"


FEEDS = {"floor_writev": "kernel floor: `writev`", "floor_uringmsg": "kernel floor: `uringmsg`", "agentd": "agentd",
         "agentd_calls": "agentd --no-io-uring",
         "nchan": "nchan", "node": "Node, plain http"}
COLUMNS = {"deliveries/s": ("{:,.0f}", "deliveries_per_s"), "events a write": ("{:.2f}", "events_per_write"),
           "CPU per delivery": ("{:.2f} us", "cpu_us"),
           "p50 / p99 at 50 events/s": ("{:.1f} / {:.1f} ms", "fifty_p50_ms", "fifty_p99_ms"),
           "CPU per delivery at 50 events/s": ("{:.2f} us", "fifty_cpu_us"),
           "memory per stream": ("{:.1f} KiB", "kib_per_stream")}


def feed_row(results: dict, feed: str) -> str:
    cells = []
    for text, *names in COLUMNS.values():
        values = [results.get(f"{feed}_{name}") for name in names]
        cells.append("" if None in values else text.format(*values))
    return f"| {FEEDS[feed]} | {' | '.join(cells)} |" if any(cells) else ""


def heading(words: list[str]) -> list[str]:
    return [f"| {' | '.join(words)} |", f"| {' | '.join(['---'] * len(words))} |"]


def markdown(document: dict) -> str:
    """Both tables, and what they were measured on."""
    results, machine = document["results"], document["machine"]
    lines = [f"Measured {document['measured']} on {machine['cpu']}, {machine['cores']} cores, "
             f"Linux {machine['kernel']}; {'a quick run, ' if document['quick'] else ''}best of {document['rounds']}.",
             "", *heading(["what", "must", "stretch", "measured", "met", "beside it"])]
    lines += [markdown_row(row, results) for row in ROWS]
    lines += ["", *heading(["one event at a time, 1,000 streams", *COLUMNS])]
    lines += filter(None, (feed_row(results, feed) for feed in FEEDS))
    for reason in document["missing"]:
        lines += ["", f"Not measured: {reason}"]
    return "\n".join(lines) + "\n"
