#!/usr/bin/env python3
"""What captures must print: runs `rdmascope dump` as TESTLIST says and compares with expected/NAME.txt.

usage: golden.py [--binary PATH] run [NAME...]       compare; exit 1 where one differs
       golden.py [--binary PATH] update [NAME...]    write what is printed now: read it before it is committed
       golden.py orphans                             expected texts that no line of TESTLIST names, and the reverse

A line of TESTLIST: name, capture, flags; blanks between; `#` begins a comment. The flags `2>` at the end keep standard
error as well, and the exit status.
"""
import argparse
import difflib
import os
import pathlib
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXPECTED = HERE / "expected"


def tests():
    listed = {}
    for line in (HERE / "TESTLIST").read_text().splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        name, capture, flags = words[0], words[1], words[2:]
        if name in listed:
            sys.exit(f"TESTLIST names {name} twice")
        listed[name] = (capture, flags)
    return listed


def printed(binary, capture, flags):
    errors = bool(flags) and flags[-1] == "2>"
    flags = flags[:-1] if errors else flags
    # Relative to the root, so that messages name no path of the machine.
    environment = {**os.environ, "TZ": "UTC", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "COLUMNS": "200"}
    # One pipe for both: the order in which a user sees them is part of the result.
    result = subprocess.run([binary, "dump", "-r", f"pcaps/{capture}", *flags], cwd=ROOT, env=environment, timeout=120,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT if errors else subprocess.PIPE)
    text = result.stdout.decode("utf-8", "backslashreplace")
    if errors:
        return text + f"exit status {result.returncode}\n"
    if result.returncode != 0:
        text += f"exit status {result.returncode}: {result.stderr.decode('utf-8', 'backslashreplace')}\n"
    return text


def run(binary, chosen):
    failed = 0
    for name, (capture, flags) in chosen.items():
        path = EXPECTED / f"{name}.txt"
        wanted = path.read_text() if path.exists() else ""
        found = printed(binary, capture, flags)
        if found != wanted:
            failed += 1
            sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), found.splitlines(True), f"expected/{name}.txt", "printed"))
    print(f"{len(chosen) - failed} of {len(chosen)} golden texts as expected")
    return failed == 0


def update(binary, chosen):
    EXPECTED.mkdir(exist_ok=True)
    for name, (capture, flags) in chosen.items():
        path, found = EXPECTED / f"{name}.txt", printed(binary, capture, flags)
        if not path.exists() or path.read_text() != found:
            path.write_text(found)
            print(path.relative_to(ROOT))
    return True


def orphans(listed):
    kept = {path.stem for path in EXPECTED.glob("*")} if EXPECTED.exists() else set()
    for name in sorted(kept - listed.keys()):
        print(f"expected/{name}.txt belongs to no line of TESTLIST")
    for name in sorted(listed.keys() - kept):
        print(f"TESTLIST's {name} has no expected text: golden.py update {name}, and read it")
    return kept == listed.keys()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--binary", default=ROOT / "build/release/rdmascope")
    parser.add_argument("command", choices=["run", "update", "orphans"])
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    listed = tests()
    unknown = set(arguments.names) - listed.keys()
    if unknown:
        sys.exit(f"TESTLIST does not name {', '.join(sorted(unknown))}")
    if arguments.command == "orphans":
        sys.exit(not orphans(listed))
    chosen = {name: test for name, test in listed.items() if not arguments.names or name in arguments.names}
    work = run if arguments.command == "run" else update
    sys.exit(not work(os.path.abspath(arguments.binary), chosen))


if __name__ == "__main__":
    main()
