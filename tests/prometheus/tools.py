"""What the Prometheus tests share: the programs, and a reader of the text format."""
import collections
import math
import os
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PCAPS = ROOT / "pcaps"
RULES = ROOT / "exporters" / "prometheus" / "rules"
BINARY = os.environ.get("RDMASCOPE_BINARY", str(ROOT / "build/release/rdmascope"))
TOTALS = os.environ.get("RDMASCOPE_TOTALS", str(ROOT / "build/release/prometheus_totals"))
# Where `./dev test` unpacks Debian's package, without installing the service that comes with it.
UNPACKED = ROOT / "build" / "tools" / "prometheus" / "usr" / "bin"


def program(name):
    """The path of promtool or prometheus; None where there is none."""
    return shutil.which(name) or shutil.which(name, path=str(UNPACKED))


def needs(name):
    return unittest.skipUnless(program(name), f"{name} is not in PATH nor in {UNPACKED}: ./dev test fetches it")


def run(*arguments, **options):
    options = {"text": True, "capture_output": True, "timeout": 120, **options}
    return subprocess.run([str(argument) for argument in arguments], **options)


def totals(*arguments):
    result = run(TOTALS, *arguments)
    if result.returncode:
        raise RuntimeError(f"{arguments}: {result.stderr}")
    return result.stdout


Series = collections.namedtuple("Series", "name type unit labels help")


def table():
    """Name -> what the program's table of series says."""
    found = {}
    for line in totals("series").splitlines():
        name, kind, unit, labels, text = line.split("\t")
        found[name] = Series(name, kind, unit, labels.split(",") if labels else [], text)
    return found


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


def samples(text):
    """(name, {label: value}, value) of each line that is no comment."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, labels, value = SAMPLE.fullmatch(line).groups()
            yield name, dict(LABEL.findall(labels or "")), float(value.replace("Inf", "inf"))


def total(text, name, **labels):
    """The sum of all samples of a name that have these labels; None where there are none."""
    found = [value for sample, having, value in samples(text)
             if sample == name and all(having.get(label) == wanted for label, wanted in labels.items())]
    return math.fsum(found) if found else None


def captures():
    return sorted(path for path in PCAPS.iterdir() if re.search(r"\.pcap(ng)?(\.gz)?$", path.name))
