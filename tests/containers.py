"""The steps of a container file, run without a container engine: as root, in an empty folder."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = ("unshare", "chroot", "setpriv", "mount")


def missing():
    """Return why no steps can be run here; empty if they can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"{' and '.join(absent)} not installed"
    if os.geteuid():
        return "only root can mount folders"
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "this machine has no mount namespaces"


def stages(file):
    """Return the instructions of each stage as pairs of a name and its text."""
    text = re.sub(r"^\s*#.*\n", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    result = []
    for line in filter(str.strip, text.splitlines()):
        name, _, rest = line.strip().partition(" ")
        if name == "FROM":
            result.append((rest.rpartition(" AS ")[2] if " AS " in rest else "", []))
        else:
            result[-1][1].append((name, rest.strip()))
    return result


class Image:
    """The folders of the stages below one folder, and the settings of the last stage."""

    def __init__(self, file, context, folder):
        self.context, self.folder = context, folder
        self.environment, self.user, self.command, self.health = {}, "0:0", [], []
        for number, (name, steps) in enumerate(stages(file)):
            self.root = folder / (name or f"stage-{number}")
            self.root.mkdir()
            for word, rest in steps:
                getattr(self, f"_{word.lower()}")(rest)

    def _copy(self, rest):
        *sources, target = shlex.split(rest)
        base = self.context
        if sources[0].startswith("--from="):
            base = self.folder / sources.pop(0).partition("=")[2]
        place = self.root / target.lstrip("/")
        (place if len(sources) > 1 or target.endswith("/") else place.parent).mkdir(
            parents=True, exist_ok=True
        )
        for source in sources:
            if source == ".":
                shutil.copytree(base, place, ignore=shutil.ignore_patterns(*self._ignored_paths()))
            else:
                subprocess.run(["cp", "-a", base / source.lstrip("/"), place], check=True)

    def _ignored_paths(self):
        return [*(self.context / ".containerignore").read_text().split(), ".*_cache", "__pycache__"]

    def _run(self, rest):
        subprocess.run(self.argv(["/bin/sh", "-c", rest]), check=True, env=self._variables())

    def _variables(self):
        path = f"{sys.base_prefix}/bin:/usr/bin:/bin"
        return {**os.environ, "PATH": path, **self.environment}

    def _env(self, rest):
        self.environment |= dict(part.split("=", 1) for part in shlex.split(rest))

    def _user(self, rest):
        self.user = rest

    def _expose(self, rest):
        self.port = int(rest)

    def _healthcheck(self, rest):
        self.health = json.loads(rest.partition(" CMD ")[2])

    def _entrypoint(self, rest):
        self.command = json.loads(rest)

    def _cmd(self, rest):
        self.command = [*self.command, *json.loads(rest)]

    def argv(self, command, *, is_final=False):
        """Return a command line that runs a command in the image; at last as its user."""
        shared = ["/usr", "/etc/ssl", "/etc/resolv.conf", "/etc/hosts", sys.base_prefix]
        shared += [] if is_final else ["/etc", str(Path.home() / ".config")]
        root = shlex.quote(str(self.root))
        lines = ["set -e", f"mount --bind {root} {root}", f"cd {root}", "mkdir -p proc dev tmp"]
        lines += [f"[ -L {link} ] || ln -s usr/{link} {link}" for link in ("bin", "lib", "lib64")]
        for place in filter(os.path.exists, shared):
            inside, source = shlex.quote(place.lstrip("/")), shlex.quote(place)
            making = f"mkdir -p {inside}"
            if Path(place).is_file():
                making = f"mkdir -p $(dirname {inside}); touch {inside}"
            lines.append(f"{making}; mount --bind -o ro {source} {inside}")
        lines += ["mount --bind /dev dev", "mount -t proc proc proc"]
        words = [shutil.which("chroot"), "."]
        if is_final:
            lines += ["mount -o remount,bind,ro .", "mount -t tmpfs tmpfs tmp"]
            user, group = self.user.split(":")
            words += [shutil.which("setpriv"), "--reuid", user, "--regid", group, "--clear-groups"]
            words += ["--no-new-privs", "--bounding-set=-all"]
        lines.append(shlex.join(["exec", *words, *command]))
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(lines)]

    def start(self, **variables):
        """Start the image's command, with a read-only root and an empty folder for other files."""
        env = {"PATH": "/usr/bin:/bin", **self.environment, **variables}
        return subprocess.Popen(
            self.argv(self.command, is_final=True), env=env, stderr=subprocess.PIPE, text=True
        )
