"""A Dragonfly with two applications and noise in SimGrid; run by the system's Python, alone.

``/usr/bin/python3 simgrid_run.py FOLDER GROUPS ROUTERS TERMINALS GLOBALS ITERATIONS SEED LOAD``
writes ``iterations.txt``, ``wl.conf``, ``alloc.conf``, ``net.conf`` and ``links.csv`` (bytes of
each port in each window).  SimGrid models flows, not packets: links share bandwidth, none queues.

With a further word, ``ask``, each application asks before every iteration whether it must simulate
it: a request per line on standard output, as CODES's director writes it, a reply on standard input.
"""

import ctypes
import json
import random
import sys
import time
from pathlib import Path

from simgrid import (  # type: ignore[import-not-found]
    Actor,
    Comm,
    Engine,
    LinkInRoute,
    Mailbox,
    NetZone,
    this_actor,
)

GIB = 2.0**30
LOCAL, WIDE, TERMINAL = 5.25 * GIB, 4.7 * GIB, 5.25 * GIB
WINDOW_S, LATENCY, CHANGES = 250e-6, "100ns", 0.002
HALO_B, REDUCE_B, NOISE_B = 400_000, 20_000, 65_536


def main() -> None:
    """Build, place, run, write."""
    folder = Path(sys.argv[1])
    groups, routers, terminals, wide, iterations, seed = map(int, sys.argv[2:8])
    load = float(sys.argv[8])
    rng = random.Random(seed)
    engine = Engine(["simgrid", "--cfg=contexts/factory:thread", "--log=root.thres:critical"])
    library = ctypes.CDLL("libsimgrid.so.3.32")
    library.sg_link_load_plugin_init()
    hosts, ports = build(groups, routers, terminals, wide)
    counts = split(len(hosts))
    places = rng.sample(range(len(hosts)), sum(counts))
    jobs = [places[: counts[0]], places[counts[0] : counts[0] + counts[1]], places[-counts[2] :]]
    state = {"left": counts[0] + counts[1], "log": [], "windows": [], "plans": {}, "begun": {},
             "ask": "ask" in sys.argv[9:], "skipped": {}}  # fmt: skip
    for job, (size, compute) in enumerate(((HALO_B, 2e-4), (REDUCE_B, 5e-4))):
        for rank, place in enumerate(jobs[job]):
            args = (state, job, rank, jobs[job], size, compute, iterations)
            Actor.create(f"j{job}-{rank}", hosts[place], halo if job == 0 else reduction, *args)
    for rank, place in enumerate(jobs[2]):
        own, targets = random.Random(rng.random()), [hosts[p] for p in jobs[2] if p != place]
        Actor.create(f"n{rank}", hosts[place], noise, state, own, hosts[place], targets, load)
    Actor.create("sampler", hosts[0], sample, state, library, ports)
    engine.run()
    write(folder, state, jobs, ports, (groups, routers, terminals, wide), load)
    spent = {"cpu_s": time.process_time(), "skipped": state["skipped"]}
    (folder / "spent.json").write_text(json.dumps(spent))


def asked(job: int, operation: str, *args: str, payload: str = "") -> dict:
    """One request of the director's protocol; the client is the job."""
    request = {"cmd": "director-request", "operation": operation,
               "surrogate_family": "iteration-time",
               "args": [str(1 + len(args)), str(job), *args]}  # fmt: skip
    sys.stdout.write(f"{json.dumps(request)}\0{payload}\n")
    sys.stdout.flush()
    return json.loads(sys.stdin.readline())


def forecast(state: dict, job: int, i: int, iterations: int) -> tuple:
    """Iterations that need not be simulated now, and their seconds; the first rank there asks."""
    if not state["ask"]:
        return 0, 0.0
    if (job, i) not in state["plans"]:
        now = Engine.clock
        if job in state["begun"]:
            took = 1e9 * (now - state["begun"][job])
            asked(job, "send-records", "1", payload=f"{took:f}")
        times = asked(job, "hand-over").get("predictions", "").split()[: iterations - 1 - i]
        state["plans"][job, i] = len(times), 1e-9 * sum(map(float, times))
        state["begun"][job] = now + state["plans"][job, i][1]
        state["skipped"][job] = state["skipped"].get(job, 0) + len(times)
    return state["plans"][job, i]


def split(hosts: int) -> tuple:
    """Ranks of the halo exchange, of the all-reduce (even), of the noise."""
    first = hosts // 2
    second = min(hosts * 4 // 9, hosts - first - 2) // 2 * 2
    return first, second, hosts - first - second


def build(groups: int, routers: int, terminals: int, wide: int) -> tuple:
    """Hosts in order of terminals, and the name of the link that each port sends into."""
    zone = NetZone.create_dijkstra_zone("dragonfly")
    count = groups * routers
    nodes = [zone.create_router(f"r{r}") for r in range(count)]
    ports: dict = {}

    def join(a: int, b: int, pa: tuple, pb: tuple, speed: float) -> None:
        link = zone.create_split_duplex_link(f"l{a}-{b}-{pa[1]}", speed)
        link.set_latency(LATENCY).seal()
        zone.add_route(nodes[a], nodes[b], None, None,
                       [LinkInRoute(link, LinkInRoute.Direction.UP)], True)  # fmt: skip
        ports[pa], ports[pb] = f"l{a}-{b}-{pa[1]}_UP", f"l{a}-{b}-{pa[1]}_DOWN"

    for g in range(groups):
        for i in range(routers):
            for j in range(i + 1, routers):
                a, b = g * routers + i, g * routers + j
                join(a, b, (a, j - 1), (b, i), LOCAL)
    for g in range(groups):
        for c in range(groups - 1):
            other, back = (g + 1 + c) % groups, groups - 2 - c
            a, b = g * routers + c // wide, other * routers + back // wide
            if a < b:
                join(a, b, (a, routers - 1 + c % wide), (b, routers - 1 + back % wide), WIDE)
    hosts = []
    for t in range(count * terminals):
        host = zone.create_host(f"t{t}", 1e9)
        link = zone.create_split_duplex_link(f"t{t}-", TERMINAL)
        link.set_latency(LATENCY).seal()
        zone.add_route(host.netpoint, nodes[t // terminals], None, None,
                       [LinkInRoute(link, LinkInRoute.Direction.UP)], True)  # fmt: skip
        ports[t // terminals, routers - 1 + wide + t % terminals] = f"t{t}-_DOWN"
        hosts.append(host)
    zone.seal()
    return hosts, ports


def exchange(job: int, rank: int, others: list, size: int) -> None:
    """Send to all others and receive from all of them."""
    sent = [Mailbox.by_name(f"{job}.{o}.{rank}").put_async(b"x", size) for o in others]
    got = [Mailbox.by_name(f"{job}.{rank}.{o}").get_async() for o in others]
    Comm.wait_all(sent)
    Comm.wait_all([g[0] if isinstance(g, tuple) else g for g in got])


def finish(state: dict, job: int, rank: int, place: int, i: int, iterations: int) -> None:
    """Note the mark of an iteration."""
    state["log"].append((i, place, job, rank, Engine.clock))
    state["left"] -= i == iterations - 1


def halo(state, job, rank, places, size, compute, iterations) -> None:  # type: ignore[no-untyped-def]
    """Neighbours one and a row away, both ways round."""
    n, row = len(places), max(2, int(len(places) ** 0.5))
    near = sorted({(rank + d) % n for d in (1, -1, row, -row)} - {rank})
    i = 0
    while i < iterations:
        steps, seconds = forecast(state, job, i, iterations)
        this_actor.sleep_for(seconds)
        i += steps
        this_actor.sleep_for(compute)
        exchange(job, rank, near, size)
        finish(state, job, rank, places[rank], i, iterations)
        i += 1


def reduction(state, job, rank, places, size, compute, iterations) -> None:  # type: ignore[no-untyped-def]
    """A ring of reductions; every tenth iteration computes longer, as a rebuilt neighbour list."""
    n = len(places)
    i = 0
    while i < iterations:
        steps, seconds = forecast(state, job, i, iterations)
        this_actor.sleep_for(seconds)
        i += steps
        this_actor.sleep_for(compute * (1.5 if i % 10 == 9 else 1.0))
        step = 1
        while step < n:
            exchange(job, rank, sorted({(rank + step) % n, (rank - step) % n} - {rank}), size)
            step *= 2
        finish(state, job, rank, places[rank], i, iterations)
        i += 1


def noise(state, rng, source, targets, load) -> None:  # type: ignore[no-untyped-def]
    """Messages to random places, at a rate that changes from time to time."""
    rate = load
    while state["left"] > 0:
        if rng.random() < CHANGES:
            rate = load * rng.choice((0.2, 1.0, 3.0))
        this_actor.sleep_for(rng.expovariate(rate * TERMINAL / NOISE_B))
        Comm.sendto(source, rng.choice(targets), NOISE_B)


def sample(state, library, ports) -> None:  # type: ignore[no-untyped-def]
    """Bytes of every port in each window, until both applications are done."""
    library.sg_link_get_cum_load.restype = ctypes.c_double
    library.sg_link_by_name.restype = ctypes.c_void_p
    handles = []
    for name in ports.values():
        handle = ctypes.c_void_p(library.sg_link_by_name(name.encode()))
        library.sg_link_load_track(handle)
        handles.append(handle)
    before = [0.0] * len(handles)
    while state["left"] > 0:
        this_actor.sleep_for(WINDOW_S)
        now = [library.sg_link_get_cum_load(h) for h in handles]
        state["windows"].append([b - a for a, b in zip(before, now)])
        before = now


def write(folder: Path, state: dict, jobs: list, ports: dict, sizes: tuple, load: float) -> None:
    """The files that `rheostat network read` takes; links.csv becomes ports.npz there."""
    lines = [f"ITERATION {i} node {t} job {j} rank {r} time {1e9 * s:.6f}"
             for i, t, j, r, s in state["log"]]  # fmt: skip
    (folder / "iterations.txt").write_text("\n".join(lines) + "\n")
    names = (("halo", 0.0), ("allreduce", 0.0), ("synthetic", 1e9 * NOISE_B / TERMINAL / load))
    (folder / "wl.conf").write_text("".join(
        f"{len(p)} {n} 0 {t:.0f}\n" for p, (n, t) in zip(jobs, names)))  # fmt: skip
    (folder / "alloc.conf").write_text("".join(" ".join(map(str, p)) + "\n" for p in jobs))
    keys = ("num_groups", "num_routers", "num_cns_per_router", "num_global_channels")
    ordered = (sizes[0], sizes[1], sizes[2], sizes[3])
    text = "".join(f'{k}="{v}";\n' for k, v in zip(keys, ordered))
    speeds = (("local", LOCAL), ("global", WIDE), ("cn", TERMINAL))
    text += "".join(f'{k}_bandwidth="{v / GIB}";\n' for k, v in speeds)
    (folder / "net.conf").write_text(text + 'routing="minimal";\n')
    head = ",".join(f"{r}.{p}" for r, p in ports)
    rows = [",".join(f"{v:.0f}" for v in w) for w in state["windows"]]
    (folder / "links.csv").write_text("\n".join([head, *rows]) + "\n")


if __name__ == "__main__":
    main()
