"""How long a session's streams live after it was revoked, while events flow."""
import json
import multiprocessing
import selectors
import socket
import struct
import time
import urllib.parse
import urllib.request

from bench import Bench, load
from daemon import MEMORY, Daemon, merged
from fan_out import MANY, publish_options, subscribe_options
from streams import stalled_reader, subscriber

STREAMS, STALLED = 20, 5
GOODBYE = b'"reason":"revoked"'
SECONDS = 30  # for anything to happen
SO_TIMESTAMPNS = 35  # asm-generic/socket.h; the module socket does not name it
MESSAGES = 600  # a second, of about eight events each


def form(daemon: Daemon, path: str, **fields: str) -> dict:
    request = urllib.request.Request(daemon.url + path, urllib.parse.urlencode(fields).encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def sign_in(daemon: Daemon, operator: dict) -> str:
    asked = form(daemon, "/oauth2/device_authorization", client_id="bench")
    daemon.command(operator, op="auth.device.approve", user_code=asked["user_code"], **{"as": "ada"})
    return form(daemon, "/oauth2/token", grant_type="urn:ietf:params:oauth:grant-type:device_code",
                device_code=asked["device_code"], client_id="bench")["access_token"]


def arrived(notes: list) -> int:
    """When the kernel took in the newest byte of what was received, in nanoseconds of the epoch; 0: before it was asked
    to note that."""
    times = [struct.unpack("qq", data) for _, kind, data in notes if kind == SO_TIMESTAMPNS]
    return max((seconds * 1_000_000_000 + rest for seconds, rest in times), default=0)


def last_byte(readers: list) -> int:
    """Reads them until each was told goodbye, or cut: when the last byte of all arrived, however late it is read."""
    tails, last = dict.fromkeys(readers, b""), 0
    with selectors.DefaultSelector() as open_ones:
        for reader in readers:
            reader.setblocking(False)
            reader.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            open_ones.register(reader, selectors.EVENT_READ)
        while open_ones.get_map():
            if not (ready := open_ones.select(SECONDS)):
                raise RuntimeError(f"{len(open_ones.get_map())} streams are still open, and get nothing")
            for key, _ in ready:
                reader = key.fileobj
                try:
                    received, notes, *_ = reader.recvmsg(1 << 20, socket.CMSG_SPACE(16))
                except ConnectionResetError:
                    received = b""
                if received:
                    last = max(last, arrived(notes))
                text = tails[reader] + received
                tails[reader] = text[-len(GOODBYE):]
                if not received or GOODBYE in text:
                    open_ones.unregister(reader)
    return last


class Reading:
    """`with Reading(readers) as reading`: a process of its own reads them; `reading.last_byte()` waits for their end."""

    def __init__(self, readers: list):
        fork = multiprocessing.get_context("fork")
        self.result, told = fork.Pipe(duplex=False)
        self.process = fork.Process(target=lambda: told.send(last_byte(readers)), daemon=True)

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()

    def last_byte(self) -> int:
        if not self.result.poll(SECONDS):
            raise RuntimeError(f"streams are still open {SECONDS} s after the revocation")
        if not (last := self.result.recv()):
            raise RuntimeError("the kernel does not say when a byte arrived")
        return last


def revoke(bench: Bench) -> dict:
    """Of the streams that are read, the last byte that the daemon wrote, from the answer to the revocation on; and
    from before the request on, the end as it is seen by the last of all, those that were not read till then too."""
    rule = {"id": "ada", "role": "user", "match": {"bearer_ref": {"env": "ADA_TOKEN"}}}
    config = merged(MEMORY, {"a2a": {
        "bearer": {"env": "OPERATOR_TOKEN"}, "principals": [rule], "device_grant": {"enabled": True},
        "events": {"max_streams": MANY, "max_streams_per_principal": MANY}}})
    operator, ada = ({"Authorization": f"Bearer {name}"} for name in ("operator-token", "ada-token"))
    written, seen, rate = [], [], 0.0
    for _ in range(bench.rounds):
        with Daemon(bench.agentd, config, bench.server_cpu,
                    env={"OPERATOR_TOKEN": "operator-token", "ADA_TOKEN": "ada-token"}) as daemon:
            session = {"Authorization": f"Bearer {sign_in(daemon, operator)}"}
            readers = [subscriber(daemon, 0, session) for _ in range(STREAMS)]
            stalled = [stalled_reader(daemon, 0, session) for _ in range(STALLED)]

            def end_them() -> None:
                with Reading(readers) as reading:
                    time.sleep(1)  # the events flow
                    begun = time.monotonic()
                    daemon.command(operator, op="auth.sessions.revoke", name="ada")
                    answered = time.time_ns()
                    written.append((reading.last_byte() - answered) / 1e6)
                    last_byte(stalled)
                    seen.append((time.monotonic() - begun) * 1e3)

            step = load(bench, [daemon.pid], subscribe_options(daemon, ada, 1) +
                        publish_options(daemon, ada, "hello") +
                        ["-w", 0, "-d", 3, "--pub-rates", MESSAGES, "--ts-key", ""], end_them)[0]
            rate = step["deliveries_per_s"]
            for reader in readers + stalled:
                reader.close()
    return {"revoke_streams": STREAMS, "revoke_stalled": STALLED, "revoke_written_ms": max(written),
            "revoke_seen_ms": max(seen), "revoke_events_per_s": rate}
