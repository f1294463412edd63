#!/usr/bin/env python3
"""Lists the captures: writes INDEX.tsv and the table of README.md from the JSON beside each capture.

INDEX.tsv has one line a capture: name, file, frames, link type, transport, origin, what it shows. Captures made by hand
have a JSON too, a small one, written by handmade.py.

usage: pcaps/make/index.py [--check]     --check writes nothing and fails where the two files are out of date
"""
import gzip
import json
import pathlib
import re
import struct
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent
MARK = "<!-- the table is written by make/index.py -->\n"
LINK_TYPES = {1: "EN10MB", 101: "RAW", 113: "LINUX_SLL", 197: "ERF", 247: "INFINIBAND", 276: "LINUX_SLL2"}
LAB = {"rxe": "lab, Linux rxe", "siw": "lab, Linux siw", "smc": "lab, Linux SMC"}


def header(path):
    """Frames and link type of a pcap or pcapng file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        data = file.read()
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<"}.get(data[:4], ">")
    link, = struct.unpack_from(order + "I", data, 20)
    frames, at = 0, 24
    while at + 16 <= len(data):
        at += 16 + struct.unpack_from(order + "I", data, at + 8)[0]
        frames += 1
    return frames, LINK_TYPES.get(link, str(link))


def rows():
    for path in sorted(FOLDER.glob("*.pcap*")):
        name = re.sub(r"\.pcap(ng)?(\.gz)?$", "", path.name)
        truth = json.loads((FOLDER / f"{name}.json").read_text())
        frames, link = header(path)
        if frames != truth["frames"]:
            sys.exit(f"{path.name}: {frames} frames, but its JSON says {truth['frames']}")
        shows = re.sub(r" \(see src/vtest\.c\)(: TERMINATE messages for the error modes)?", "", truth["scenario"])
        shows = re.sub(r"  +", " ", shows)
        if "cut" in truth:
            shows += f" ({truth['cut'].split(',')[0]})"
        origin = truth.get("origin") or LAB[truth["driver"]]
        yield name, path.name, str(frames), link, origin, shows


def main():
    listed = list(rows())
    index = "".join("\t".join(row) + "\n" for row in [("name", "file", "frames", "link", "origin", "shows")] + listed)
    table = "| name | frames | origin | what it shows |\n|---|---:|---|---|\n"
    table += "".join(f"| {name} | {frames} | {origin} | {shows.replace('|', '/')} |\n"
                     for name, _, frames, _, origin, shows in listed)
    readme = (FOLDER / "README.md").read_text()
    readme = readme[: readme.index(MARK)] + MARK + "\n" + table
    for path, text in ((FOLDER / "INDEX.tsv", index), (FOLDER / "README.md", readme)):
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in sys.argv:
            sys.exit(f"{path.name} is out of date: run pcaps/make/index.py")
        path.write_text(text)


if __name__ == "__main__":
    main()
