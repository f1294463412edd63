"""`-T json`: the same keys, nested the same way, with the same values, as far as both programs have them."""
import json

from tools import Failure, both, captures, run

# Capture and how many of its first frames.
CASES = [("rxe-verbs-badrkey-w", 17), ("rxe-verbs-atomic", 12), ("rxe-mckey", 16), ("rxe-write-bw-4k-ipv6", 60), ("siw-verbs-perm-w", 16),
         ("siw-mpa-reject", 12), ("made-roce-opcodes", 20), ("made-roce-carriers", 6), ("made-erf-infiniband", 5), ("made-cm", 12)]


def members(text):
    """JSON with repeated keys: objects as lists of pairs."""
    return json.loads(text, object_pairs_hook=lambda pairs: ("object", pairs))


def named(pairs, name):
    return [value for key, value in pairs if key == name]


def is_object(value):
    return isinstance(value, tuple)


class Shape:
    def __init__(self):
        self.differences, self.keys = [], 0

    def compare(self, where, theirs, ours):
        """Both are lists of pairs. A key of ours that tshark has elsewhere or not at all is a difference, unless it is our own."""
        for key in dict.fromkeys(key for key, _ in ours):
            if key.startswith("rdma."):
                continue
            wanted, found = named(theirs, key), named(ours, key)
            self.keys += 1
            if not wanted:
                self.differences.append((where, f"only rdmascope has {key} here"))
            elif [is_object(value) for value in wanted] != [is_object(value) for value in found]:
                self.differences.append((where, f"{key}: tshark has {[kind(v) for v in wanted]}, rdmascope {[kind(v) for v in found]}"))
            else:
                for their_value, our_value in zip(wanted, found):
                    if is_object(our_value):
                        self.compare(f"{where} {key}", their_value[1], our_value[1])
                    elif their_value != our_value:
                        self.differences.append((where, f"{key}: tshark {str(their_value)[:80]!r}, rdmascope {str(our_value)[:80]!r}"))


def kind(value):
    return "object" if is_object(value) else "value"


def compare(arguments, cache):
    shape, paths = Shape(), captures()
    for name, count in CASES:
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
