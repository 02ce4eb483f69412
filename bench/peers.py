"""What is measured beside the daemon, with the same load generator. One that is not on this machine is Missing."""
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
NGINX = HERE.parent / "build/peers/nginx/usr"  # unpacked by scripts/setup.sh, not installed: nothing serves port 80
SDK = HERE.parent / "tests/e2e"
START_SECONDS = 10


class Missing(Exception):
    """The peer is not here; the text says what would bring it."""


class Peer:
    """`with Peer(cpu) as peer`: listening, and only on that core, when it begins; ended when it ends."""

    def __init__(self, cpu: int):
        self.cpu = cpu

    def command(self) -> list:
        raise NotImplementedError

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="agentd-peer-"))
        try:
            command = [str(word) for word in self.command()]
            self.process = subprocess.Popen(["taskset", "--cpu-list", str(self.cpu), *command], cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        try:
            self.url = self.wait_for_url()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wait_for_url(self) -> str:
        raise NotImplementedError

    @property
    def pids(self) -> list[int]:
        return [self.process.pid]

    @property
    def feed(self) -> list[str]:
        """Options of ssebench: where to subscribe and where to publish."""
        return ["--url", self.url + "/sub", "--pub-url", self.url + "/pub"]


class NodePeer(Peer):
    def script(self) -> list:
        raise NotImplementedError

    def command(self) -> list:
        if not shutil.which("node"):
            raise Missing("Node.js is not installed (scripts/setup.sh test)")
        return ["node", *self.script()]

    def wait_for_url(self) -> str:
        line = self.process.stdout.readline().decode(errors="replace")
        if not line.startswith("{"):
            raise RuntimeError(f"the peer did not start: {line}{self.process.stdout.read().decode(errors='replace')}")
        return json.loads(line)["url"]


class NodeFeed(NodePeer):
    name = "Node, plain http"

    def script(self) -> list:
        return [HERE / "peers/node_feed.mjs"]


class SdkServer(NodePeer):
    name = "@a2a-js/sdk"

    def script(self) -> list:
        if not (SDK / "node_modules/@a2a-js/sdk").is_dir():
            raise Missing("the JavaScript SDK is not in tests/e2e/node_modules (scripts/setup.sh test)")
        return [HERE / "peers/sdk_server.mjs", SDK]


class Nchan(Peer):
    name = "nchan"

    def command(self) -> list:
        if not (NGINX / "sbin/nginx").exists():
            raise Missing("nginx and libnginx-mod-nchan are not in build/peers (scripts/setup.sh bench)")
        with socket.create_server(("127.0.0.1", 0)) as chosen:  # nginx cannot choose a port and say which
            self.port = chosen.getsockname()[1]
        (self.folder / "nginx.conf").write_text(f"""
            load_module {NGINX}/lib/nginx/modules/ngx_nchan_module.so;
            daemon off; worker_processes 1; pid nginx.pid;
            events {{ worker_connections 19000; }}
            http {{
              access_log off; keepalive_requests 1000000000;
              server {{
                listen 127.0.0.1:{self.port} backlog=4096;
                location = /sub {{
                  nchan_subscriber eventsource; nchan_channel_id feed; nchan_subscriber_first_message newest;
                }}
                location = /pub {{ nchan_publisher http; nchan_channel_id feed; nchan_message_buffer_length 100; }}
              }}
            }}""")
        return [NGINX / "sbin/nginx", "-p", self.folder, "-c", self.folder / "nginx.conf"]

    def wait_for_url(self) -> str:
        """It listens before it has its worker."""
        deadline = time.monotonic() + START_SECONDS
        while not self.pids:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError(f"nginx did not start: {self.process.stdout.read().decode(errors='replace')}")
            time.sleep(0.01)
        return f"http://127.0.0.1:{self.port}"

    @property
    def pids(self) -> list[int]:
        """The worker's; the master does nothing."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()] if children.exists() else []
