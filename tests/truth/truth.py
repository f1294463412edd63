#!/usr/bin/env python3
"""rdmascope's figures and answers against the truth about every capture.

    truth.py witnesses [--only GLOB]
        The applications' reports, the kernels' counters and a second reader agree among themselves: what the other two
        tests expect is sound.
    truth.py --binary PATH flows [--only GLOB]
        What `flows --json` counts is what the witnesses say.
    truth.py --binary PATH io [--only GLOB]
        What `io --each --json` shows of storage is what dd, fio, the client's mountstats and the kernel's log report.
    truth.py --binary PATH why [--only GLOB]
        What `why --json` finds first is the capture's true cause (verdicts.tsv), and the healthy ones raise no alarm.

Where a figure differs by nature, exceptions.tsv has the reason; a line that nothing needs any more fails.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import expected
import reports
import storage

HERE = pathlib.Path(__file__).resolve().parent
WORKERS = 2
# What `flows` is asked for; the second reader has more figures.
ASKED = ["messages/*", "bytes/*", "queue_pairs/*", "packets/*", "mpa_segments/*", "retransmitted/*", "duplicates/*", "missing/*",
         "naks/*", "rnr_naks/*", "ip_ce/*", "cnp/*", "terminates/*", "sends/*", "consumed/*", "icrc/*", "depth/*", "latency_min/*"]
STORAGE = ("nvme-", "nfs-", "iser-", "srp-")


def rows(name):
    for number, line in enumerate((HERE / name).read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            yield number, line.split("\t")


class Exceptions:
    """exceptions.tsv: capture (glob), figure (glob), whom it excuses (report, counter, reader, flows), reason."""

    def __init__(self):
        self.rows = [(number, *columns) for number, columns in rows("exceptions.tsv")]
        self.needed = set()

    def excuse(self, capture, figure, whom):
        for number, captures, figures, whose, _ in self.rows:
            if fnmatch.fnmatch(capture, captures) and fnmatch.fnmatch(figure, figures) and whose == whom:
                self.needed.add(number)
                return True
        return False

    def orphans(self, whose):
        """Lines that nothing needed."""
        return [f"exceptions.tsv:{row[0]}: nothing needs this any more: {' '.join(row[1:4])}" for row in self.rows
                if row[3] in whose and row[0] not in self.needed]


def output(binary, *arguments):
    result = subprocess.run([binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    if result.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: exit status {result.returncode}: {result.stderr.decode()[-500:]}")
    return result.stdout


def run(binary, *arguments):
    return json.loads(output(binary, *arguments))


def node_of(truth, address):
    """A or B, or the address itself: of a stranger, or of a multicast group."""
    words = address.split("::")
    for node, about in truth["nodes"].items():
        if address == about["ip"] or len(words) > 1 and address == about["ip6"]:
            return node
    return address


def tally(answer, truth):
    """The figures of `flows --json`, by sender."""
    found = collections.Counter()
    for flow in answer["flows"]:
        node = node_of(truth, flow["source"]["address"])
        for operation, figures in flow["messages"].items():
            found[f"messages/{operation}/{node}"] += figures["count"]
            found[f"bytes/{operation}/{node}"] += figures["bytes"]
            least = flow["latency_ns"][operation]["min"]
            if least is not None:
                found[f"latency_min/{operation}/{node}"] = min(least, found.get(f"latency_min/{operation}/{node}", least))
            if operation.startswith("send"):
                found[f"sends/{node}"] += figures["count"]
            if operation.startswith("send") or operation == "write_immediate":
                found[f"consumed/{node}"] += figures["count"]
        found[f"queue_pairs/{flow['service']}/{node}"] += 1
        found[("mpa_segments/" if flow["transport"] == "iwarp" else "packets/") + node] += flow["packets"]
        for figure, field in (("retransmitted", "retransmitted_packets"), ("duplicates", "duplicate_packets"),
                              ("missing", "missing_packets"), ("rnr_naks", "rnr_naks"), ("ip_ce", "ecn_ce_packets"),
                              ("cnp", "cnp_packets"), ("terminates", "terminates"), ("icrc", "icrc_bad")):
            found[f"{figure}/{node}"] += flow[field] or 0
        found[f"depth/{node}"] = max(found[f"depth/{node}"], flow["outstanding"]["messages_max"])
        for code, count in flow["naks"].items():
            found[f"naks/{code}/{node}"] += count
    return found


def inconsistent(name, flows):
    """What no capture may show: times that do not add up, halves that do not know each other."""
    failures, by_id = [], {flow["id"]: flow for flow in flows}
    for flow in flows:
        wall, split = flow["last_ns"] - flow["first_ns"], sum(flow["state_ns"].values())
        if wall != split:
            failures.append(f"{name}: flow {flow['id']}: states add up to {split} ns of {wall}")
        if flow["reverse"] is not None and by_id.get(flow["reverse"], {}).get("reverse") != flow["id"]:
            failures.append(f"{name}: flow {flow['id']}: its reverse, {flow['reverse']}, has another one")
        if flow["service"] == "RC" and flow["reverse"] is None:
            failures.append(f"{name}: flow {flow['id']}: both directions are in the capture, but it has no reverse")
    return failures


def check_witnesses(name, path, truth, exceptions):
    """Every witness says what the others say."""
    said, failures = expected.words(path, truth), []
    reported = any(word.witness == "report" and figure.startswith("messages/") for figure in said for word in said[figure])
    excused = [pattern for pattern in reports.UNREPORTED if fnmatch.fnmatch(name, pattern)]
    if reported == bool(excused):
        failures.append(f"{name}: reports.UNREPORTED has " + ("it, but a report was found" if reported else "no reason for it"))
    for figure, words in sorted(said.items()):
        reader = words[-1]
        if reader.witness != "reader":
            continue
        for word in words[:-1]:
            if word.agrees(reader.least) or exceptions.excuse(name, figure, word.witness):
                continue
            failures.append(f"{name}: {figure}: {word}, but {reader}")
    return failures, sum(len(words) - 1 for words in said.values())


def check_flows(name, path, truth, exceptions, binary):
    answer = run(binary, "flows", "--json", "-r", str(path))
    found, failures, compared = tally(answer, truth), [], 0
    if answer["capture"]["packets"] != truth["frames"]:
        failures.append(f"{name}: capture.packets: expected {truth['frames']}, found {answer['capture']['packets']}")
    failures += inconsistent(name, answer["flows"])
    said = expected.words(path, truth)
    # Management datagrams are no flows (docs/metrics.md), but counters and applications' hosts count them.
    for node in "AB":
        datagrams = said.get(f"messages/management/{node}", [expected.Word("reader", 0, 0, "")])[-1].least
        for figure in ("packets", "sends", "consumed"):
            found[f"{figure}/{node}"] += datagrams
    for figure in sorted(said.keys() | found.keys()):
        if "/management/" in figure or not any(fnmatch.fnmatch(figure, asked) for asked in ASKED):
            continue
        if figure.split("/")[0] in expected.NOT_READ and (figure not in said or figure not in found):
            continue
        words = said.get(figure, [expected.Word("reader", 0, 0, "the second reader")])
        # Whom the witnesses' own test excuses is not heard here.
        heard = [word for word in words if word is words[-1] or word.agrees(words[-1].least)]
        compared += 1
        if all(word.agrees(found[figure]) for word in heard) or exceptions.excuse(name, figure, "flows"):
            continue
        failures.append(f"{name}: {figure}: expected {heard[0]}, found {found[figure]}")
    return failures, compared


def check_io(name, path, truth, binary):
    found = [json.loads(line) for line in output(binary, "io", "--each", "--json", "-n", "-r", str(path)).splitlines()]
    said = list(storage.check(found, truth))
    return [f"{name}: {what}" for right, what in said if not right], len(said)


class Wanted:
    """verdicts.tsv: capture (glob), question, verdict (regular expression), verdicts that may alarm next to it (regular
    expression), reason. The first line that fits a capture and a question counts. The question `first` asks for the finding
    that comes first, whatever its question; it alone says which alarms there may be. `also` asks for a finding at any place."""

    def __init__(self, captures):
        self.rows, self.needed = list(rows("verdicts.tsv")), set()
        self.of = {name: {} for name in captures}
        for name, questions in self.of.items():
            for number, (capture, question, verdict, alarms, _) in self.rows:
                if question not in questions and fnmatch.fnmatch(name, capture):
                    questions[question] = verdict, alarms
                    self.needed.add(number)

    def orphans(self):
        return [f"verdicts.tsv:{number}: fits no capture" for number, _ in self.rows if number not in self.needed]


def check_why(name, path, truth, exceptions, binary, wanted):
    answers, failures = run(binary, "why", "--json", "-r", str(path))["answers"], []
    named = lambda answer: f"{answer['question']}/{answer['verdict']}"
    missing = {"bandwidth", "latency", "qp_cache", "congestion", "queue_depth"} - {answer["question"] for answer in answers}
    if missing:
        return [f"{name}: no answer about {', '.join(sorted(missing))}"], 1
    for question, (verdict, alarms) in wanted.items():
        if question == "first":
            found = answers[0]
            fits = verdict == "*" or re.fullmatch(verdict, named(found))
            failures += [f"{name}: expected no such alarm: {named(answer)}: {answer['summary']}" for answer in answers
                         if answer["alarm"] and not re.fullmatch(alarms, named(answer))]
        elif question == "also":
            found = answers[0]
            fits = any(re.fullmatch(verdict, named(answer)) for answer in answers)
        else:
            found = next(answer for answer in answers if answer["question"] == question)
            fits = re.fullmatch(verdict, found["verdict"])
        if not fits:
            failures.append(f"{name}: {question}: expected {verdict}, found {named(found)}: {found['summary']}")
    return failures, len(wanted)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("what", choices=["witnesses", "flows", "io", "why"])
    parser.add_argument("--binary")
    parser.add_argument("--only", default="*")
    arguments = parser.parse_args()
    exceptions, captures = Exceptions(), expected.captures()
    chosen = {name: about for name, about in captures.items() if fnmatch.fnmatch(name, arguments.only)}
    wanted = Wanted(captures)

    def check(item):
        name, (path, truth) = item
        try:
            if arguments.what == "witnesses":
                return check_witnesses(name, path, truth, exceptions)
            if arguments.what == "flows":
                return check_flows(name, path, truth, exceptions, arguments.binary)
            if arguments.what == "io":
                return check_io(name, path, truth, arguments.binary) if name.startswith(STORAGE) else ([], 0)
            return check_why(name, path, truth, exceptions, arguments.binary, wanted.of[name])
        except (RuntimeError, KeyError, ValueError, subprocess.TimeoutExpired) as error:
            return [f"{name}: {type(error).__name__}: {error}"], 0

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(check, chosen.items()))
    failures = [failure for found, _ in results for failure in found]
    if arguments.only == "*" and arguments.what in ("witnesses", "flows"):
        failures += exceptions.orphans(["flows"] if arguments.what == "flows" else ["report", "counter"])
    if arguments.what == "witnesses" and arguments.only == "*":
        failures += [f"reports.UNREPORTED: there is no capture {pattern}" for pattern in reports.UNREPORTED
                     if not fnmatch.filter(captures, pattern)]
    if arguments.what == "why" and arguments.only == "*":
        failures += wanted.orphans()
    print("\n".join(failures))
    print(f"{len(chosen)} captures, {sum(count for _, count in results)} comparisons, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
