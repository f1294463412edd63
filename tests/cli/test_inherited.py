"""What the children of rdmascope inherit. Only `dump -z` and `run` start programs, which tests/layering/descriptors.py ensures."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

from command import BINARY, ENVIRONMENT, PCAPS, TestCase, dump

NAMESPACE = f"rdmascope-inherit-{os.getpid()}"
CLOSE_ON_EXEC = 0o2000000
# A program that any user can run. `ls` has what the script inherited, and the folder that it reads.
LISTING = """#!/bin/sh
{{ id -u; ls -l /proc/self/fd; echo end; }} > {out}.$$
mv {out}.$$ {out}.$$.done
"""
TALK = """
import socket
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(40):
    link.sendto(bytes(200), ("127.0.0.1", 4791))
"""


def setUpModule():
    made = subprocess.run(["ip", "netns", "add", NAMESPACE], capture_output=True, text=True) if shutil.which("ip") else None
    if made is None or made.returncode != 0:
        raise unittest.SkipTest("network namespaces are not permitted here: what children of a live capture inherit is not tested")
    unittest.addModuleCleanup(subprocess.run, ["ip", "netns", "del", NAMESPACE])
    subprocess.run(["ip", "-n", NAMESPACE, "link", "set", "lo", "up"], check=True)


def within(*command):
    return ["ip", "netns", "exec", NAMESPACE, *map(str, command)]


class Children(TestCase):
    """Commands in the namespace, and what their children print."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o777)
        self.out = self.folder / "inherited.txt"
        self.script = self.folder / "list-descriptors"
        self.script.write_text(LISTING.format(out=self.out))
        self.script.chmod(0o755)

    def wait_for(self, what, condition):
        deadline = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.05)

    def children(self):
        """(user, descriptors above the standard streams) of each child so far."""
        children = []
        for listing in self.folder.glob("inherited.txt.*.done"):
            user, *lines = listing.read_text().splitlines()
            self.assertEqual(lines[-1], "end")
            found = [re.search(r" (\d+) -> (.*)", line) for line in lines]
            children.append((int(user), [int(each[1]) for each in found if each and int(each[1]) > 2 and not each[2].startswith("/proc/")]))
        return children

    def process_output(self):
        """A new file for what the next command writes."""
        self.output = self.folder / f"output{len(list(self.folder.glob('output*')))}"
        file = open(self.output, "wb")
        self.addCleanup(file.close)
        return file

    def written(self):
        return self.output.read_text()

    def start(self, *arguments, **options):
        output = self.process_output()
        options = {"stdout": output, "stderr": output, **options}
        process = subprocess.Popen(within(BINARY, *arguments), env=ENVIRONMENT, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class Inherited(Children):
    def test_the_command_of_a_live_capture_has_the_standard_streams_only(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        process = self.start("dump", "-i", "lo", "-w", self.folder / "saved.pcap", "-U", "-C", "1k", "-W", "4", "-z", self.script,
                             "-Z", "nobody", pass_fds=[writer])
        self.wait_for("the capture", lambda: "listening on" in self.written())
        subprocess.run(within(sys.executable, "-c", TALK), check=True)
        self.wait_for("the command", lambda: len(self.children()) >= 2)
        process.terminate()
        process.wait(timeout=30)
        for user, descriptors in self.children():
            self.assertEqual((user, descriptors), (65534, []))

    def test_the_command_of_a_file_has_the_standard_streams_only(self):
        self.succeeds(dump("-r", PCAPS / "rxe-rping.pcap", "-w", self.folder / "saved.pcap", "-C", "1k", "-z", self.script))
        self.assertTrue(self.children())
        for _, descriptors in self.children():
            self.assertEqual(descriptors, [])

    def test_a_program_that_is_run_has_what_its_user_gave_and_no_more(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        for options in (["--summary", "off"], ["--software"], ["--trace", self.folder / "trace.rdmatrace"]):
            with self.subTest(options=options):
                for listing in self.folder.glob("inherited.txt.*"):
                    listing.unlink()
                done = subprocess.run([BINARY, "run", *map(str, options), "--", str(self.script)], capture_output=True, text=True,
                                      env=ENVIRONMENT, timeout=60, pass_fds=[writer])
                if "librdmascope" in done.stderr:
                    self.skipTest(done.stderr.strip())
                self.assertTrue(self.children(), done.stderr)
                for _, descriptors in self.children():
                    self.assertEqual(descriptors, [writer])


class Marked(Children):
    """Each descriptor of a running command is close-on-exec, those of its libraries as well."""

    def unmarked(self, process):
        pid = process.pid  # ip(8) becomes the command
        found = []
        for entry in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
            flags = next(line.split()[1] for line in entry.read_text().splitlines() if line.startswith("flags:"))
            if int(entry.name) > 2 and not int(flags, 8) & CLOSE_ON_EXEC:
                found.append((entry.name, os.readlink(f"/proc/{pid}/fd/{entry.name}")))
        return found

    def test_every_descriptor_of_a_running_command_is_marked(self):
        config = self.folder / "rdmascope.toml"
        config.write_text(f'[capture]\ninterfaces = ["lo"]\n[control]\nsocket = "{self.folder}/daemon.sock"\n[prometheus]\nlisten = "127.0.0.1:0"\n'
                          f'[history]\ndirectory = "{self.folder}/history"\n[recorder]\ndirectory = "{self.folder}/recordings"\n')
        commands = {"dump": (["dump", "-i", "lo", "-w", self.folder / "a.pcap"], "listening on"),
                    "dump -i any": (["dump", "-i", "any", "-w", self.folder / "b.pcap"], "listening on"),
                    "daemon": (["daemon", "--config", config], "ready"),
                    "endpoint": (["endpoint", "serve", "--listen", "127.0.0.1:0"], "ready")}
        for name, (arguments, sign) in commands.items():
            with self.subTest(command=name):
                process = self.start(*arguments)
                self.wait_for(sign, lambda: sign in self.written())
                self.assertEqual(self.unmarked(process), [])
                process.kill()
                process.wait()


if __name__ == "__main__":
    unittest.main()
