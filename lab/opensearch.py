"""Start and stop OpenSearch on this machine, for tests and benchmarks, with one process per node.

    python lab/opensearch.py start [--nodes N] [--port PORT] [--heap 1g] [--folder FOLDER]
    python lab/opensearch.py stop [--node K] [--kill] [--remove]
    python lab/opensearch.py status

`mvn` downloads the server and its modules from Maven Central into the user's cache; the cluster is
stored there too unless FOLDER is given. This requires Maven and a JDK (17 or newer; 21 for
OpenSearch 3, which can be chosen with OPENSEARCH_VERSION). `start` waits until the cluster is green
and prints its address; if it runs already, `start` starts the nodes that are down. Nodes listen
only on 127.0.0.1, without security: never put such a cluster on a network. Users should run the
vendor's container image instead (docs/recipes/opensearch.md).
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

VERSION = os.environ.get("OPENSEARCH_VERSION", "2.19.6")
"""The newest version for Java 17. Version 3 requires Java 21; set JAVA_HOME to choose it."""

LOG4J = "2.25.4"
"""Version of Log4j's core, which is missing from the server's POM."""

SERVER = ("opensearch", "opensearch-plugin-classloader")

MODULES = ("lang-painless", "analysis-common", "transport-netty4-client")
EXTENDS = {"analysis-common": "lang-painless"}

WAIT, WAIT_FOR_COPIES = 600.0, 30.0
"""Seconds to wait for all shards of the cluster, and for their copies."""

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
{body}
</project>
"""
OWN = "<groupId>pnyx.tools</groupId><artifactId>{}</artifactId><version>1</version>"
NEEDED = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)

LAUNCHER = """
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.env.Environment;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;

public class Launcher {
    public static void main(String[] args) throws Exception {
        Settings settings = Settings.builder().put("path.home", args[0]).build();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            settings, Map.of(), Path.of(args[0], "config"), () -> "node");
        LogConfigurator.setNodeName(Node.NODE_NAME_SETTING.get(environment.settings()));
        LogConfigurator.configure(environment);
        Node node = new Node(environment);
        CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try { node.close(); } catch (Exception error) { error.printStackTrace(); }
            closed.countDown();
        }));
        node.start();
        closed.await();
    }
}
"""

LOGGING = """status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %-5p %c{{1.}} %m%n
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


def refuse(line: str) -> None:
    print(f"opensearch: {line}", file=sys.stderr)
    raise SystemExit(2)


def cache() -> Path:
    """Return the folder that keeps the jars."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pnyx" / "opensearch"


def java(name: str) -> str:
    """Return the command of a JDK: that of JAVA_HOME, else the first one found."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", name)) if home else name


def missing() -> str:
    """Return a line on what is missing on this machine; empty if nothing is."""
    absent = [name for name in (java("java"), java("javac"), "mvn") if shutil.which(name) is None]
    return f"needs a JDK and Maven: {', '.join(absent)} not found" if absent else ""


# The server --------------------------------------------------------------------------------------


def installed() -> Path:
    """Return the folder of the server's jars and modules; download them the first time."""
    folder = cache() / VERSION
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # if several processes need it, only one downloads it
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            print(
                f"opensearch: fetching {VERSION} from Maven's central repository", file=sys.stderr
            )
            _fetch(folder)
            (folder / "Launcher.java").write_text(LAUNCHER)
            run(java("javac"), "-cp", f"{folder / 'server' / 'lib'}/*",
                str(folder / "Launcher.java"))  # fmt: skip
            (folder / "complete").touch()
    return folder


def _fetch(folder: Path) -> None:
    parts = {"server": [("org.opensearch", name, VERSION) for name in SERVER]}
    parts["server"].append(("org.apache.logging.log4j", "log4j-core", LOG4J))
    parts |= {name: [("org.opensearch.plugin", name, VERSION)] for name in MODULES}
    named = "".join(f"<module>{name}</module>" for name in parts)
    kind = f"<packaging>pom</packaging><modules>{named}</modules>"
    (folder / "pom.xml").write_text(POM.format(body=OWN.format("all") + kind))
    for name, needed in parts.items():
        rows = "".join(NEEDED.format(*coordinates) for coordinates in needed)
        (folder / name).mkdir(exist_ok=True)
        body = f"{OWN.format(name)}<dependencies>{rows}</dependencies>"
        (folder / name / "pom.xml").write_text(POM.format(body=body))
    run("mvn", "-q", "-B", "-f", str(folder / "pom.xml"), "dependency:copy-dependencies",
        "-DoutputDirectory=lib")  # fmt: skip
    shared = {jar.name for jar in (folder / "server" / "lib").iterdir()}
    spi = {jar.name for jar in (folder / "lang-painless" / "lib").iterdir()}
    for name in MODULES:
        module = folder / "home" / "modules" / name
        shutil.rmtree(module, ignore_errors=True)
        module.mkdir(parents=True)
        provided = shared | (spi if name in EXTENDS else set())
        for jar in (folder / name / "lib").iterdir():
            if jar.name not in provided:
                shutil.copy(jar, module)
        main = plugin_of(module / f"{name}-{VERSION}.jar")
        (module / "plugin-descriptor.properties").write_text(
            f"name={name}\ndescription={name}\nversion={VERSION}\nopensearch.version={VERSION}\n"
            f"java.version=11\nclassname={main}\nextended.plugins={EXTENDS.get(name, '')}\n"
        )


def plugin_of(jar: Path) -> str:
    """Return the class that loads a module; its name depends on the version."""
    with zipfile.ZipFile(jar) as content:
        (name,) = (n for n in content.namelist() if n.endswith("Plugin.class"))
    return name.removesuffix(".class").replace("/", ".")


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        refuse(f"{command[0]} failed: {lines[0][:300] if lines else done.returncode}")


# The cluster -------------------------------------------------------------------------------------


class Cluster:
    """The nodes in a folder; `cluster.json` contains their ports and process ids."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "cluster.json"
        self.nodes: list[dict[str, Any]] = []
        if self.file.exists():
            self.nodes = json.loads(self.file.read_text())["nodes"]

    @property
    def address(self) -> str:
        alive = [node for node in self.nodes if self.alive(node)] or self.nodes
        return f"http://127.0.0.1:{alive[0]['http']}"

    def alive(self, node: dict[str, Any]) -> bool:
        """Whether its process runs and is ours; the id may belong to another process by now."""
        if not node["pid"]:
            return False
        with_pid = ["ps", "-ww", "-o", "args=", "-p", str(node["pid"])]
        output = subprocess.run(with_pid, capture_output=True, text=True).stdout
        return str(self.folder / node["name"]) in output

    def save(self) -> None:
        self.file.write_text(json.dumps({"version": VERSION, "nodes": self.nodes}, indent=1))

    def start(self, count: int, port: int, heap: str) -> None:
        server = installed()
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.nodes:
            inner = free_ports(count)
            self.nodes = [
                {"name": f"node-{k + 1}", "http": port + k, "inner": inner[k], "pid": 0}
                for k in range(count)
            ]
        elif count and count != len(self.nodes):
            problem = f"{self.folder} holds a cluster of {len(self.nodes)} nodes"
            refuse(f"{problem}: remove it with stop --remove")
        for node in self.nodes:
            if not self.alive(node):
                if taken(node["http"]):
                    refuse(f"port {node['http']} is in use: choose another with --port")
                node["pid"] = self._launch(server, node, heap)
                self.save()
        self.wait()

    def _launch(self, server: Path, node: dict[str, Any], heap: str) -> int:
        home = self.folder / node["name"]
        (home / "config").mkdir(parents=True, exist_ok=True)
        (home / "tmp").mkdir(exist_ok=True)
        if not (home / "modules").exists():
            (home / "modules").symlink_to(server / "home" / "modules")
        names = [peer["name"] for peer in self.nodes]
        settings = {
            "cluster.name": "pnyx",
            "node.name": node["name"],
            "path.data": str(home / "data"),
            "path.logs": str(home),
            "network.host": "127.0.0.1",
            "http.port": node["http"],
            "transport.port": node["inner"],
            "discovery.seed_hosts": [f"127.0.0.1:{peer['inner']}" for peer in self.nodes],
            "cluster.initial_cluster_manager_nodes": names,
            "cluster.routing.allocation.disk.threshold_enabled": False,
            "node.store.allow_mmap": False,
            # Retry the allocation of copies of a killed node soon, not after half an hour.
            "indices.recovery.internal_action_timeout": "20s",
            "indices.recovery.internal_action_long_timeout": "40s",
            "indices.recovery.recovery_activity_timeout": "40s",
        }
        if not (home / "data").exists() or len(names) == 1:
            settings = {k: v for k, v in settings.items() if len(names) > 1 or "initial" not in k}
        else:
            del settings["cluster.initial_cluster_manager_nodes"]
        if len(names) == 1:
            settings["discovery.type"] = "single-node"
        (home / "config" / "opensearch.yml").write_text(json.dumps(settings, indent=1))
        log = LOGGING.format(log=home / "node.log")
        (home / "config" / "log4j2.properties").write_text(log)
        command = [
            java("java"),
            f"-Xms{heap}",
            f"-Xmx{heap}",
            "-XX:+UseG1GC",
            f"-Djava.io.tmpdir={home / 'tmp'}",
        ]
        command += ["-Djava.awt.headless=true", "-Dlog4j2.disable.jmx=true"]
        command += ["-cp", f"{server}:{server / 'server' / 'lib'}/*", "Launcher", str(home)]
        with (home / "output.txt").open("w") as output:
            return subprocess.Popen(
                command,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            ).pid

    def wait(self) -> None:
        """Wait until all nodes are in the cluster and it is green, or after some time yellow.

        If nodes were killed, their copies can take half an hour to return; the data is complete
        without them.
        """
        begun = time.monotonic()
        while (waited := time.monotonic() - begun) < WAIT:
            status = "green" if waited < WAIT_FOR_COPIES else "yellow"
            query = f"wait_for_nodes={len(self.nodes)}&wait_for_status={status}&timeout=2s"
            for node in self.nodes:
                if not self.alive(node):
                    refuse(f"{node['name']} ended: {self._last_words(node)}")
            health = self.ask(f"/_cluster/health?{query}")
            if health is not None and not health.get("timed_out", True):
                return
            time.sleep(0.2)
        refuse(f"not green after {WAIT:.0f} s: {self.folder}")

    def _last_words(self, node: dict[str, Any]) -> str:
        home = self.folder / node["name"]
        for name in ("output.txt", "node.log"):
            path = home / name
            lines = path.read_text(errors="replace").splitlines() if path.exists() else []
            if exceptions := [line for line in lines if "Exception" in line]:
                return exceptions[0][:300]
        return f"see {home}"

    def ask(self, path: str) -> Any:
        """Return the cluster's answer; None if it does not answer."""
        try:
            with urllib.request.urlopen(self.address + path, timeout=10) as answer:
                return json.load(answer)
        except (OSError, ValueError, urllib.error.URLError):
            return None

    def stop(self, only: int | None, *, kill: bool) -> None:
        some = self.nodes if only is None else self.nodes[only - 1 : only]
        running = [node for node in some if self.alive(node)]
        for node in running:
            os.kill(node["pid"], signal.SIGKILL if kill else signal.SIGTERM)
        begun = time.monotonic()
        while any(map(self.alive, running)) and time.monotonic() - begun < 30:
            time.sleep(0.1)
        for node in filter(self.alive, running):
            os.kill(node["pid"], signal.SIGKILL)


def taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for bound in sockets:
        bound.bind(("127.0.0.1", 0))
    ports = [bound.getsockname()[1] for bound in sockets]
    for bound in sockets:
        bound.close()
    return ports


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["start", "stop", "status", "fetch"])
    parser.add_argument("--nodes", type=int, default=0, help="number of nodes (1)")
    parser.add_argument("--port", type=int, default=9200, help="port of the first node (9200)")
    parser.add_argument("--heap", default="1g", help="memory per node (1g)")
    parser.add_argument("--folder", type=Path, help="folder of the cluster")
    parser.add_argument("--node", type=int, help="with stop: only this node (1, 2, ...)")
    parser.add_argument("--kill", action="store_true", help="with stop: kill at once (SIGKILL)")
    parser.add_argument(
        "--remove", action="store_true", help="with stop: remove the cluster's data"
    )
    options = parser.parse_args(arguments)
    cluster = Cluster((options.folder or cache() / "cluster").absolute())
    if options.what in ("start", "fetch") and (problem := missing()):
        refuse(problem)
    if options.what == "fetch":
        print(installed())
    elif options.what == "start":
        cluster.start(max(options.nodes, 0) or len(cluster.nodes) or 1, options.port, options.heap)
        print(cluster.address)
    elif options.what == "stop":
        cluster.stop(options.node, kill=options.kill)
        if options.remove and options.node is None:
            shutil.rmtree(cluster.folder, ignore_errors=True)
    else:
        status(cluster)


def status(cluster: Cluster) -> None:
    if not any(map(cluster.alive, cluster.nodes)):
        refuse("no node is running")
    health = cluster.ask("/_cluster/health") or {"status": "no answer"}
    print(f"{cluster.address}: {health['status']}")
    for node in cluster.nodes:
        print(
            f"  {node['name']}: {'running' if cluster.alive(node) else 'down'}, port {node['http']}"
        )


if __name__ == "__main__":
    main()
