#!/usr/bin/env python3
"""rdmascope against tshark, on every capture.

    oracle.py --binary PATH fields [--shard I/N] [--results DIR] [--only GLOB] [--field GLOB] [--show N]
        Every field that both know, every frame, every occurrence: what `-T fields` prints is equal, or exceptions.txt has
        the reason. With --results the shard's counts are kept for `summary`.
    oracle.py summary --results DIR
        What the shards found, together; fails where an exception was needed by none of them.
    oracle.py --binary PATH filters [--only GLOB]
        Every display filter of filters.txt selects the same frames.
    oracle.py --binary PATH json
        `-T json` nests the same keys in the same way, on a few captures.
"""
import argparse
import collections
import fnmatch
import json
import pathlib
import sys

sys.dont_write_bytecode = True
import json_shape
import reasons
from tools import (HERE, Cache, Failure, both, captures, fail, fields_command, in_order, our_fields, parse_records, run, shard_of,
                   tshark_fields, tshark_reads)

GROUPS = ["infiniband", "iwarp_mpa", "iwarp_ddp", "iwarp_rdma", "eth", "vlan", "ip", "ipv6", "udp", "tcp"]


def group_of(field):
    head = field.split(".")[0]
    return head if head in GROUPS else "other"


class Comparison:
    """The differences of one shard, and its counts."""

    def __init__(self, known, show):
        self.known, self.show = known, show
        self.printed = collections.Counter()     # by field: occurrences tshark printed
        self.reproduced = collections.Counter()  # by field: of them, ours
        self.excused = collections.Counter()     # by exception's line
        self.unexplained = {}                    # (capture, field, kind) -> [(frame, theirs, ours)]

    def frame(self, capture, frames, number, shared, theirs, ours):
        for field, values in theirs.items():
            self.printed[field] += len(values)
        for field in theirs.keys() | ours.keys():
            if field not in shared:
                continue
            wanted, found = theirs.get(field, []), ours.get(field, [])
            if wanted == found:
                self.reproduced[field] += len(wanted)
                continue
            self.reproduced[field] += sum((collections.Counter(wanted) & collections.Counter(found)).values())
            kind = "more" if in_order(wanted, found) else "fewer" if in_order(found, wanted) else "other"
            for known in self.known:
                if known.covers(capture, field, kind) and frames.contain(known.frames, number):
                    self.excused[known.line] += 1
                    break
            else:
                self.unexplained.setdefault((capture, field, kind), []).append((number, wanted, found))

    def report(self):
        by_field = collections.Counter()
        for (capture, field, kind), cases in sorted(self.unexplained.items(), key=lambda item: (item[0][1], item[0][0])):
            by_field[field] += len(cases)
            print(f"{field}: {len(cases)} frames of {capture} differ ({kind})")
            for number, wanted, found in cases[: self.show]:
                print(f"    frame {number}: tshark {brief(wanted)}; rdmascope {brief(found)}")
        for field, count in by_field.most_common():
            print(f"{count:8} differences in {field}")


def brief(values):
    text = ", ".join(values) if values else "nothing"
    return text if len(text) < 160 else f"{text[:150]}... ({len(values)} values)"


# Their fields have a comparison of their own: commands.py.
UPPER_LAYERS = ("nvme.", "nvme-rdma", "rpcordma.", "rpc.", "nfs", "mount.", "nlm.", "stat.", "iser.", "iscsi.", "scsi.", "scsi_sbc.", "smb_direct.", "smb2.", "arp.")


def compare_fields(arguments, cache):
    theirs_all = tshark_fields()
    ours_all = our_fields(arguments.binary)
    shared = [field for field in ours_all if not field.startswith(UPPER_LAYERS)
              and theirs_all.get(field, "FT_NONE") not in ("FT_NONE", "FT_PROTOCOL") and fnmatch.fnmatch(field, arguments.field)]
    if not shared:
        raise Failure("no field is known to both")
    lacking = [] if arguments.field != "*" else [
        field for field, kind in theirs_all.items()
        if group_of(field) != "other" and field not in ours_all and kind not in ("FT_NONE", "FT_PROTOCOL")]
    asked = shared + sorted(lacking)
    index, count = (int(part) for part in arguments.shard.split("/"))
    paths = {name: path for name, path in captures(arguments.only).items() if tshark_reads(name)}
    comparison = Comparison(reasons.read(), arguments.show)
    shared_set = set(shared)
    for name in shard_of(paths, index, count):
        path = paths[name]
        theirs, ours = both(lambda: parse_records(cache.tshark(path, fields_command(asked)), asked),
                            lambda: parse_records(run([arguments.binary, "dump", "-n", "-r", str(path), *fields_command(shared)]), shared))
        if len(theirs) != len(ours):
            raise Failure(f"{name}: tshark printed {len(theirs)} records and rdmascope {len(ours)}")
        frames = reasons.Frames(cache, path)
        for number, (wanted, found) in enumerate(zip(theirs, ours), 1):
            comparison.frame(name, frames, number, shared_set, wanted, found)
    comparison.report()
    if arguments.results:
        folder = pathlib.Path(arguments.results)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"shard-{index}-of-{count}.json").write_text(json.dumps({
            "shards": count, "shared": len(shared), "lacking": lacking, "printed": comparison.printed,
            "reproduced": comparison.reproduced, "excused": comparison.excused, "unexplained": len(comparison.unexplained)}))
    print_counts(comparison.printed, comparison.reproduced, lacking)
    return not comparison.unexplained


def print_counts(printed, reproduced, lacking):
    print(f"\n{'':12} {'tshark printed':>15} {'reproduced':>12}   share")
    for group in [*GROUPS, "other", "all"]:
        fields = [field for field in printed if group in (group_of(field), "all")]
        total, ours = sum(printed[field] for field in fields), sum(reproduced.get(field, 0) for field in fields)
        if total:
            print(f"{group:12} {total:15} {ours:12} {ours / total:7.2%}")
    absent = [(field, printed[field]) for field in lacking if printed.get(field)]
    for prefix in ("infiniband.", "iwarp_"):
        of_group = [entry for entry in absent if entry[0].startswith(prefix)]
        print(f"{len(of_group)} fields of {prefix}* occur in the captures and are not ours: "
              + (", ".join(f"{field} ({count})" for field, count in sorted(of_group)) or "none"))


def summarise(arguments):
    shards = [json.loads(path.read_text()) for path in sorted(pathlib.Path(arguments.results).glob("shard-*.json"))]
    if not shards or len(shards) != shards[0]["shards"]:
        raise Failure(f"{len(shards)} results of shards in {arguments.results}: run them all first")
    printed, reproduced, excused = collections.Counter(), collections.Counter(), collections.Counter()
    for shard in shards:
        printed.update(shard["printed"])
        reproduced.update(shard["reproduced"])
        excused.update(shard["excused"])
    print(f"{shards[0]['shared']} fields that both know were compared on every frame")
    print_counts(printed, reproduced, shards[0]["lacking"])
    known = reasons.read()
    print(f"{sum(excused.values())} differences have one of {len(known)} reasons:")
    for known_one in known:
        print(f"{excused[str(known_one.line)]:8} {known_one}")
    unneeded = [one for one in known if not excused[str(one.line)]]
    for one in unneeded:
        print(f"no longer needed: {one}")
    return not unneeded


def compare_filters(arguments, cache):
    paths, good, total = captures(), 0, 0
    for line in (HERE / "filters.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, expression = line.split("\t", 1)
        if not fnmatch.fnmatch(name, arguments.only):
            continue
        total += 1
        path = paths[name.removesuffix(".gz").removesuffix(".pcap")]
        command = ["-Y", expression, "-T", "fields", "-e", "frame.number"]
        wanted, found = both(lambda: cache.tshark(path, command),
                             lambda: run([arguments.binary, "dump", "-n", "-r", str(path), *command], accepted=(0, 1, 2)))
        if wanted == found:
            good += 1
            continue
        wanted, found = set(wanted.decode().split()), set(found.decode().split())
        print(f"{name}: {expression}\n    tshark selects {len(wanted)} frames, rdmascope {len(found)}; only tshark {sorted(wanted - found, key=int)[:8]}, "
              f"only rdmascope {sorted(found - wanted, key=int)[:8]}")
    print(f"{good} of {total} filters select the same frames")
    return good == total


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--binary")
    parser.add_argument("--cache")
    parser.add_argument("command", choices=["fields", "summary", "filters", "json"])
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--results")
    parser.add_argument("--only", default="*")
    parser.add_argument("--field", default="*")
    parser.add_argument("--show", type=int, default=2)
    arguments = parser.parse_args()
    try:
        if arguments.command == "summary":
            sys.exit(not summarise(arguments))
        cache = Cache(arguments.cache)
        work = {"fields": compare_fields, "filters": compare_filters, "json": json_shape.compare}[arguments.command]
        sys.exit(not work(arguments, cache))
    except Failure as failure:
        fail(f"oracle: {failure}")


if __name__ == "__main__":
    main()
