"""What every measurement shares: how long and how often, on which cores, and the tools it runs."""
import dataclasses
import json
import pathlib
import subprocess
import typing

HERE = pathlib.Path(__file__).resolve().parent
TOOL_SECONDS = 300  # a tool that takes longer hangs


@dataclasses.dataclass(frozen=True)
class Bench:
    build: pathlib.Path  # folder of the tools
    agentd: pathlib.Path
    quick: bool
    rounds: int  # of which the best counts
    seconds: int  # that a round measures
    streams: int
    server_cpu: int
    client_cpu: int

    def pinned(self, command: list) -> list[str]:
        """On the generator's core."""
        return ["taskset", "--cpu-list", str(self.client_cpu), *map(str, command)]


def output(command: list) -> str:
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, timeout=TOOL_SECONDS).stdout


def last_json(command: list) -> dict:
    return json.loads(output(command).splitlines()[-1])


class Load:
    """`with Load(...) as load`: ssebench has all its streams open, and `load.opened` is what it said of that.
    `load.steps()` waits for the rest, one dict for each rate."""

    def __init__(self, bench: Bench, pids: list[int], options: list):
        self.command = [bench.build / "ssebench", "--json", "--cpu", bench.client_cpu,
                        "--pid", ",".join(map(str, pids)), *options]

    def __enter__(self):
        self.process = subprocess.Popen([str(word) for word in self.command], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.opened = json.loads(line) if line else {"connected": 0, "wanted": 1}
        if self.opened["connected"] < self.opened["wanted"]:
            self.__exit__()
            raise RuntimeError(f"only {self.opened['connected']} of {self.opened['wanted']} streams were opened")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def steps(self) -> list[dict]:
        said, _ = self.process.communicate(timeout=TOOL_SECONDS)
        if self.process.returncode != 0:
            raise RuntimeError(f"ssebench ended with {self.process.returncode}")
        return [json.loads(line) for line in said.splitlines()]


def load(bench: Bench, pids: list[int], options: list,
         opened: typing.Callable[[], object] = lambda: None) -> list[dict]:
    """The steps of one Load; `opened` is called when its streams are open."""
    with Load(bench, pids, options) as running:
        opened()
        return running.steps()


def floor(bench: Bench, mode: str, size: int, batch: int = 1) -> dict:
    """What one thread can hand to the kernel, in frames of that many bytes."""
    return last_json([bench.build / "fanlimit", mode, "--conns", bench.streams, "--msg", size, "--batch", batch,
                      "--secs", bench.seconds, "--cpu", bench.server_cpu, "--drain-cpu", bench.client_cpu])


def requests(bench: Bench, url: str, body: str, connections: int, seconds: float, prefix: str | None = None) -> dict:
    """wrk: the body over and over, `{id}` in it being another id each time when there is a prefix."""
    measured = last_json(bench.pinned(
        ["wrk", "--threads", 1, "--connections", connections, "--duration", f"{max(1, round(seconds))}s", "--script",
         HERE / "request.lua", url, "--", body, *([] if prefix is None else [prefix])]))
    if measured["failed"]:
        raise RuntimeError(f"{measured['failed']} of {measured['requests']} requests failed")
    return measured


def cpu_seconds(pid: int) -> float:
    """Of all threads, to the nanosecond, which the ticks of /proc/<pid>/stat are not."""
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
