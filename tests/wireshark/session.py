"""sharkd with the plugin: Wireshark without its windows. One process opens capture after capture, and dissects their frames
in whatever order it is asked to, as often as it is asked to."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from plugged import NOBODY, home, sanitizer

if not shutil.which("sharkd"):
    print("skipped: sharkd is not installed", file=sys.stderr)
    raise SystemExit(77)


class Ended(Exception):
    """The process is gone; how is the text."""


class Session:
    def __init__(self, plugged=True):
        self.errors = tempfile.TemporaryFile()
        self.asked = 0
        environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "HOME": home(plugged), **(sanitizer() if plugged else {})}
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        self.process = subprocess.Popen(["sharkd", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        env=environment, cwd="/", **as_nobody)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self.errors.close()

    def close(self):
        """Its exit status; negative: the signal that ended it."""
        if self.process.stdin and not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
            self.process.stdout.close()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def ask(self, method, **parameters):
        """Its answer to one request, None where it has none to give."""
        self.asked += 1
        request = {"jsonrpc": "2.0", "id": self.asked, "method": method, "params": parameters}
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise Ended(f"{method} {parameters}: exit status {self.close()}")
        return json.loads(line.decode("utf-8", "replace"), strict=False).get("result")

    def open(self, path):
        if (self.ask("load", file=str(path)) or {}).get("status") != "OK":
            raise AssertionError(f"sharkd does not open {path}")
        return self

    def rows(self, *fields):
        """{frame: [each field's text]} of all frames, as columns of Wireshark's list show them."""
        columns = {f"column{i}": f"{name}:0" for i, name in enumerate(fields)}
        return {row["num"]: row["c"] for row in self.ask("frames", **columns)}

    def tree(self, frame):
        return self.ask("frame", frame=frame, proto=True)["tree"]

    def complaints(self):
        """What it has written to its standard error since the last call."""
        return self.errors.read().decode("utf-8", "replace")


if __name__ == "__main__":
    raise SystemExit("this is no test by itself")
