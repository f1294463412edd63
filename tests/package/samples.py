#!/usr/bin/env python3
"""Installs into a folder of its own, builds the sample programs against what is there, and lets them talk."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLES = ROOT / "docs" / "samples" / "iwarp"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=240, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(condition, what, *seen):
    if not condition:
        sys.exit("\n".join([f"samples: {what}", *map(str, seen)]))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--build", required=True)
    arguments.add_argument("--compiler", required=True)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="rdmascope-samples-") as folder:
        prefix, build = pathlib.Path(folder, "prefix"), pathlib.Path(folder, "build")
        run("cmake", "--install", options.build, "--prefix", prefix, "--component", "development")
        expect((prefix / "include" / "rdmascope" / "iwarp.h").exists(), "the public header was not installed")
        # Only what is installed may be seen: the samples are copied away from the sources.
        source = pathlib.Path(folder, "source")
        source.mkdir()
        for file in SAMPLES.iterdir():
            (source / file.name).write_bytes(file.read_bytes())
        run("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={options.compiler}",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror")
        run("cmake", "--build", build)

        server = subprocess.Popen([build / "server", "127.0.0.1", "0", "2"], stdout=subprocess.PIPE, text=True)
        try:
            line = server.stdout.readline()
            port = re.fullmatch(r"listening on 127\.0\.0\.1 port (\d+)\n", line)
            expect(port, "the server did not say where it listens", line)
            for message in ("hello over RDMA", "a second client, another message"):
                said = run(build / "client", "127.0.0.1", port[1], message)
                expect(said == f"written and read back: {message}\nserver heard: {message}\n", "the client printed", said)
            rest, _ = server.communicate(timeout=60)
            expect(server.returncode == 0, f"the server's exit status is {server.returncode}", rest)
            expect(rest.count(" says: ") == 2 and rest.count(": gone\n") == 2, "the server printed", rest)
        finally:
            server.kill()

        # Errors are told, not thrown at the user: nobody listens on that port any more.
        lonely = subprocess.run([build / "client", "127.0.0.1", port[1]], capture_output=True, text=True, timeout=60)
        expect(lonely.returncode == 1 and lonely.stderr.startswith("client: ") and "refused" in lonely.stderr,
               "the client without a server said", lonely.returncode, lonely.stderr)


main()
