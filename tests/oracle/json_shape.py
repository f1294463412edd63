"""`-T json`: the same keys, nested the same way, with the same values, as far as both programs have them."""
import json

import reasons
from tools import Failure, both, captures, run

# Capture and how many of its first frames.
CASES = [("rxe-verbs-badrkey-w", 17), ("rxe-verbs-atomic", 12), ("rxe-write-bw-4k-ipv6", 60), ("siw-verbs-perm-w", 16),
         ("siw-mpa-reject", 12), ("made-roce-opcodes", 20), ("made-roce-carriers", 5), ("made-erf-infiniband", 5), ("made-cm", 12)]


def members(text):
    """JSON with repeated keys: objects as lists of pairs."""
    return json.loads(text, object_pairs_hook=lambda pairs: ("object", pairs))


def named(pairs, name):
    return [value for key, value in pairs if key == name]


def is_object(value):
    return isinstance(value, tuple)


class Shape:
    def __init__(self, known):
        self.known, self.capture, self.differences, self.keys = known, "", [], 0

    def differ(self, where, key, what):
        """Notes a difference, unless exceptions.txt has a reason for this field of this capture."""
        field = key.removesuffix("_tree")
        if not any(one.covers(self.capture, field, kind) for one in self.known for kind in one.kinds):
            self.differences.append((where, f"{key}: {what}"))

    def compare(self, where, theirs, ours):
        """Both are lists of pairs. A key of ours that tshark has elsewhere or not at all is a difference, unless it is our own."""
        for key in dict.fromkeys(key for key, _ in ours):
            if key == "rdma" or key.startswith("rdma."):
                continue
            wanted, found = named(theirs, key), named(ours, key)
            self.keys += 1
            if not wanted:
                self.differ(where, key, "only rdmascope has it here")
            elif [is_object(value) for value in wanted] != [is_object(value) for value in found]:
                self.differ(where, key, f"tshark has {[kind(v) for v in wanted]}, rdmascope {[kind(v) for v in found]}")
            else:
                for their_value, our_value in zip(wanted, found):
                    if is_object(our_value):
                        self.compare(f"{where} {key}", their_value[1], our_value[1])
                    elif their_value != our_value:
                        self.differ(where, key, f"tshark {str(their_value)[:80]!r}, rdmascope {str(our_value)[:80]!r}")


def kind(value):
    return "object" if is_object(value) else "value"


def compare(arguments, cache):
    shape, paths = Shape(reasons.read()), captures()
    for name, count in CASES:
        shape.capture = name
        limit = ["-c", str(count), "-T", "json"]
        theirs, ours = both(lambda: members(cache.tshark(paths[name], limit)),
                            lambda: members(run([arguments.binary, "dump", "-n", "-r", str(paths[name]), *limit])))
        if len(theirs) != len(ours):
            raise Failure(f"{name}: tshark has {len(theirs)} records and rdmascope {len(ours)}")
        for number, (wanted, found) in enumerate(zip(theirs, ours), 1):
            shape.compare(f"{name} frame {number}:", *(named(named(record[1], "_source")[0][1], "layers")[0][1] for record in (wanted, found)))
    seen = {}
    for where, difference in shape.differences:
        seen.setdefault(difference, []).append(where)
    for difference, places in sorted(seen.items(), key=lambda item: -len(item[1]))[:60]:
        print(f"{len(places):5} {difference}   ({places[0]})")
    print(f"{shape.keys} keys compared, {len(shape.differences)} differ")
    return not shape.differences
