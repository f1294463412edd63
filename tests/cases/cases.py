"""Captures in which a wrong answer was given once, and variants of them: what rdmascope must say of each, and must not say.

Each description, NAME.toml or variants/NAME.toml, is one test. README.md lists the keys of a description.

usage: cases.py [-v] [Cases.test_NAME…]
       cases.py --problems [NAME…]      print what is not as expected, marked or not, and fail never
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import variants
from expectations import Judge

BINARY = os.environ["RDMASCOPE_BINARY"]
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CLICOLOR_FORCE")},
               "TZ": "UTC", "LC_ALL": "C.UTF-8"}
KEYS = {"title", "right", "checks", "expected_failure", "capture", "file"}


class Case:
    """One description."""

    def __init__(self, path):
        self.path = path
        self.name = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        self.method = "test_" + re.sub("[^a-z0-9]", "_", self.name)
        with path.open("rb") as file:
            self.description = tomllib.load(file)
        unknown = set(self.description) - KEYS
        assert not unknown, f"{path}: unknown keys {sorted(unknown)}"

    @property
    def expected_failure(self):
        return self.description.get("expected_failure")

    def capture(self):
        """The capture's path; that of a variant is made where it is asked for."""
        if "capture" in self.description:
            return variants.write(self.description["capture"], made_folder() / self.name)
        name = self.description.get("file", self.path.stem)
        return next((FOLDER / "captures").glob(f"{name}.*"))

    def problems(self):
        capture = self.capture()
        return [problem for check in self.description["checks"] for problem in problems_of(check, capture)]


def problems_of(check, capture):
    command = [BINARY, *shlex.split(check["run"]), "-r", str(capture)]
    seconds = check.get("timeout", 60)
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, env=ENVIRONMENT,
                                stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return [f"`{check['run']}`: has not ended after {seconds} s"]
    return Judge(check).judge(result.returncode, result.stdout, result.stderr)


def made_folder():
    """Where variants are written: a folder of the build, or one for this run alone."""
    if "RDMASCOPE_CASES" in os.environ:
        folder = pathlib.Path(os.environ["RDMASCOPE_CASES"])
    else:
        made_folder.keep = getattr(made_folder, "keep", None) or tempfile.TemporaryDirectory(prefix="rdmascope-cases-")
        folder = pathlib.Path(made_folder.keep.name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def all_cases():
    return [Case(path) for path in sorted([*FOLDER.glob("*.toml"), *FOLDER.glob("variants/*.toml")])]


class Cases(unittest.TestCase):
    pass


def test_of(case):
    def test(self):
        problems = case.problems()
        self.assertFalse(problems, "\n  ".join(["", case.description["title"], *problems]))
        if case.expected_failure:
            # unittest prints no more of an unexpected success than its name.
            print(f"{case.name}: all is as expected: remove the key expected_failure", file=sys.stderr)

    test.__doc__ = f"{case.name}: {case.description['title']}"
    return unittest.expectedFailure(test) if case.expected_failure else test


for case in all_cases():
    setattr(Cases, case.method, test_of(case))


def print_problems(names):
    for case in all_cases():
        if names and case.name not in names:
            continue
        problems = case.problems()
        mark = "marked" if case.expected_failure else "not marked"
        print(f"{case.name}: {'as expected' if not problems else f'{len(problems)} problems'}, {mark}")
        for problem in problems:
            print(f"    {problem}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--problems"]:
        print_problems(sys.argv[2:])
    else:
        unittest.main()
