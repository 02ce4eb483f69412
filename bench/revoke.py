"""How long a session's streams live after it was revoked, while events flow."""
import json
import selectors
import time
import urllib.parse
import urllib.request
import uuid

from bench import Bench, load
from daemon import MEMORY, Daemon, merged
from fan_out import MANY, publish_options, subscribe_options
from streams import stalled_reader

COMMAND = "https://agentd.dev/a2a/ext/command"
STREAMS, STALLED = 20, 5
GOODBYE = b'"reason":"revoked"'
MESSAGES = 500  # a second, of about ten events each


def form(daemon: Daemon, path: str, **fields: str) -> dict:
    request = urllib.request.Request(daemon.url + path, urllib.parse.urlencode(fields).encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def command(daemon: Daemon, operator: dict, **envelope: str) -> dict:
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "extensions": [COMMAND],
               "parts": [{"data": {"agentd": envelope}}]}
    return daemon.call("SendMessage", {"message": message}, {**operator, "A2A-Extensions": COMMAND})


def sign_in(daemon: Daemon, operator: dict) -> str:
    asked = form(daemon, "/oauth2/device_authorization", client_id="bench")
    command(daemon, operator, op="auth.device.approve", user_code=asked["user_code"], **{"as": "ada"})
    return form(daemon, "/oauth2/token", grant_type="urn:ietf:params:oauth:grant-type:device_code",
                device_code=asked["device_code"], client_id="bench")["access_token"]


def last_end(readers: list, begun: float) -> float:
    """Seconds until the last of them was told goodbye, or cut. Reads what comes before."""
    tails = dict.fromkeys(readers, b"")
    with selectors.DefaultSelector() as open_ones:
        for reader in readers:
            reader.setblocking(False)
            open_ones.register(reader, selectors.EVENT_READ)
        while open_ones.get_map():
            for key, _ in open_ones.select(30):
                reader = key.fileobj
                try:
                    received = reader.recv(1 << 20)
                except ConnectionResetError:
                    received = b""
                text = tails[reader] + received
                tails[reader] = text[-len(GOODBYE):]
                if not received or GOODBYE in text:
                    open_ones.unregister(reader)
            if time.monotonic() > begun + 30:
                raise RuntimeError(f"{len(open_ones.get_map())} streams are still open 30 s after the revocation")
    return time.monotonic() - begun


def revoke(bench: Bench) -> dict:
    """From before the request that revokes to the end of the last stream: those that read, and those that do not."""
    rule = {"id": "ada", "role": "user", "match": {"bearer_ref": {"env": "ADA_TOKEN"}}}
    config = merged(MEMORY, {"a2a": {
        "bearer": {"env": "OPERATOR_TOKEN"}, "principals": [rule], "device_grant": {"enabled": True},
        "events": {"max_streams": MANY, "max_streams_per_principal": MANY}}})
    operator, ada = ({"Authorization": f"Bearer {name}"} for name in ("operator-token", "ada-token"))
    times, rate = [], 0.0
    for _ in range(bench.rounds):
        with Daemon(bench.agentd, config, bench.server_cpu,
                    env={"OPERATOR_TOKEN": "operator-token", "ADA_TOKEN": "ada-token"}) as daemon:
            session = {"Authorization": f"Bearer {sign_in(daemon, operator)}"}
            readers = [stalled_reader(daemon, 0, session) for _ in range(STREAMS + STALLED)]

            def end_them() -> None:
                flows_until = time.monotonic() + 1
                while time.monotonic() < flows_until:
                    for reader in readers[:STREAMS]:
                        reader.recv(1 << 20)
                begun = time.monotonic()
                command(daemon, operator, op="auth.sessions.revoke", name="ada")
                times.append(last_end(readers, begun))

            step = load(bench, [daemon.pid], subscribe_options(daemon, ada, 1) +
                        publish_options(daemon, ada, "hello") +
                        ["-w", 0, "-d", 3, "--pub-rates", MESSAGES, "--ts-key", ""], end_them)[0]
            rate = step["deliveries_per_s"]
            for reader in readers:
                reader.close()
    return {"revoke_streams": STREAMS + STALLED, "revoke_last_ms": max(times) * 1000, "revoke_events_per_s": rate}
