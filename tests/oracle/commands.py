#!/usr/bin/env python3
"""Fields of upper layers against tshark's, frame by frame: here tshark takes messages apart that oracle.py has it leave alone.

    commands.py --binary PATH [--show N]

Differences that have a reason are in commands.txt, in the columns of exceptions.txt.
"""
import argparse
import sys

sys.dont_write_bytecode = True
import reasons
import tools
from oracle import Comparison
from tools import Cache, Failure, both, captures, fail, fields_command, our_fields, parse_records, run, tshark_fields

# Captures, and tshark's protocol, whose fields begin with these words.
CASES = {"nvme-rdma-rxe": ("nvme-rdma", ("nvme.", "nvme-rdma.")),
         "nfs-rdma-rxe": ("rpcordma", ("rpcordma.", "rpc.", "nfs.")),
         "nfs-rdma-siw": ("rpcordma", ("rpcordma.", "rpc.", "nfs.")),
         "iser-rxe": ("iser", ("iser.", "iscsi.", "scsi.", "scsi_sbc.")),
         "smbdirect-rxe": ("smb_direct", ("smb_direct.", "smb2.")),
         "made-smb": ("smb_direct", ("smb_direct.", "smb2."))}


def without(options, protocol):
    """tshark's options, with that protocol looked for."""
    at = options.index(protocol)
    return options[:at - 1] + options[at + 1:]


def compare(arguments):
    known = reasons.read("commands.txt")
    comparison = Comparison(known, arguments.show)
    theirs_all, ours_all = tshark_fields(), our_fields(arguments.binary)
    usual = list(tools.TSHARK_OPTIONS)
    for name, path in captures().items():
        if name not in CASES:
            continue
        protocol, prefixes = CASES[name]
        tools.TSHARK_OPTIONS[:] = without(usual, protocol)
        cache = Cache(None)
        shared = [field for field in ours_all if field.startswith(prefixes)
                  and theirs_all.get(field, "FT_NONE") not in ("FT_NONE", "FT_PROTOCOL")]
        if len(shared) < 50:
            raise Failure(f"{name}: {len(shared)} fields are known to both")
        theirs, ours = both(lambda: parse_records(cache.tshark(path, fields_command(shared)), shared),
                            lambda: parse_records(run([arguments.binary, "dump", "-n", "-r", str(path), *fields_command(shared)]), shared))
        if len(theirs) != len(ours):
            raise Failure(f"{name}: tshark printed {len(theirs)} records and rdmascope {len(ours)}")
        frames = reasons.Frames(cache, path)
        for number, (wanted, found) in enumerate(zip(theirs, ours), 1):
            comparison.frame(name, frames, number, set(shared), wanted, found)
        print(f"{name}: {len(shared)} fields, {sum(comparison.printed.values())} values of tshark's, "
              f"{sum(comparison.reproduced.values())} of them ours")
    comparison.report()
    unneeded = [one for one in known if not comparison.excused[one.line]]
    for one in unneeded:
        print(f"no longer needed: {one}")
    return not comparison.unexplained and not unneeded


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--show", type=int, default=2)
    try:
        sys.exit(not compare(parser.parse_args()))
    except Failure as failure:
        fail(f"oracle: {failure}")


if __name__ == "__main__":
    main()
