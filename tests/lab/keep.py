#!/usr/bin/env python3
"""keep.py [PATTERN]: takes the evidence of `./dev lab` out of build/lab into pcaps/: captures cut to headers, long output shortened.

Interoperation goes to pcaps/interop with a line in its RESULTS.tsv; what was observed goes to pcaps/observed as it is, since tests
compare it. Only cases without problems are kept."""
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS, PCAPS = ROOT / "build" / "lab", ROOT / "pcaps"
SNAP, MOST_FRAMES, MOST_OUTPUT = 160, 2000, 2000


def shortened(text):
    return text if len(text) <= MOST_OUTPUT else text[:MOST_OUTPUT // 2] + "\n[...]\n" + text[-MOST_OUTPUT // 2:]


def frames_of(pcap):
    said = subprocess.run(["capinfos", "-TMcr", str(pcap)], capture_output=True, text=True, check=True).stdout
    return int(said.split()[-1])


def keep_capture(pcap, folder):
    """The first frames, headers only; `-head` where there were more."""
    frames = frames_of(pcap)
    with tempfile.TemporaryDirectory() as work:
        cut = pathlib.Path(work) / "cut.pcap"
        subprocess.run(["editcap", "-F", "pcap", "-s", str(SNAP), "-r", str(pcap), str(cut), f"1-{MOST_FRAMES}"], check=True)
        name = f"{pcap.stem}{'-head' if frames > MOST_FRAMES else ''}.pcap.gz"
        with open(cut, "rb") as source, gzip.GzipFile(folder / name, "wb", compresslevel=9, mtime=0) as target:
            shutil.copyfileobj(source, target)
    return frames


def keep_interoperation(record, path):
    folder = PCAPS / "interop"
    pcap = path.with_suffix(".pcap")
    frames = keep_capture(pcap, folder)
    for command in record["commands"]:
        command["output"] = shortened(command["output"])
    (folder / path.name).write_text(json.dumps(record, indent=1) + "\n")
    table = folder / "RESULTS.tsv"
    head, *rows = table.read_text().splitlines()
    rows = [row for row in rows if row.split("\t")[0] != record["name"]]
    rows.append("\t".join([record["name"], "ok", str(frames), str(pcap.stat().st_size), record["scenario"]]))
    table.write_text("\n".join([head, *sorted(rows)]) + "\n")


def keep_observed(record, path):
    folder = PCAPS / "observed"
    folder.mkdir(exist_ok=True)
    (folder / path.name).write_text(json.dumps(record, indent=1) + "\n")
    for kind in (".trace", "-server.trace", ".txt", ".pcap.gz"):
        if (file := path.with_name(path.stem + kind)).exists():
            shutil.copy(file, folder)


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    for path in sorted(RESULTS.glob("*.json")):
        if path.name.endswith(".doctor.json") or not re.search(pattern, path.name):
            continue
        record = json.loads(path.read_text())
        if record["problems"]:
            print(f"left out: {record['name']}: {record['problems'][0][:100]}")
            continue
        (keep_observed if record["name"].startswith("observe-") else keep_interoperation)(record, path)
        print(f"kept: {record['name']}")


if __name__ == "__main__":
    main()
