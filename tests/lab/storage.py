#!/usr/bin/env python3
"""`./dev lab storage`: captures of NVMe, NFS and iSER over rxe where something goes wrong, for pcaps/.

Guest A is the target, guest B the initiator. Packets are lost, receives run out, queues are deep, media fail, space ends, commands
time out and are aborted. The reports of the tools (fio, dd, mountstats, the initiator's kernel log) are kept beside each capture, and
the kernels' counters. A line a capture; everything goes to build/lab/storage, and with --keep-captures to pcaps/.
"""
import argparse
import gzip
import json
import os
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LAB = pathlib.Path(os.environ.get("RDMASCOPE_LAB", ROOT.parent / "shared" / "lab"))
A, LIMIT = "192.0.2.1", 900
# rxe of Linux 6.1 does not survive much: a queue pair may stop for ever, and after the next set-up its keys are not free.
LOSS = ("B", "tc qdisc add dev eth0 root netem loss 0.5% limit 10000", "netem loses 0.5 % at the initiator's egress, before the tap")
RXDROP = ("B", "tc qdisc add dev eth0 clsact && tc filter add dev eth0 ingress matchall action pass random netrand drop 200",
          "1 frame in 200 is dropped at the initiator's ingress, behind the tap")
TRIES = 4
FIO = "--ioengine=libaio --direct=1 --zero_buffers --thread --output-format=terse"
MOUNTSTATS = "sed -n '/fstype nfs/,$p' /proc/self/mountstats | grep -E 'fstype|xprt|READ|WRITE|OPEN|COMMIT'"
KERNEL = "dmesg | tail -n 60"
# A command for each request of the tools: none are merged. The host itself reads what lies below 5 MiB.
APART = "for i in /sys/block/nvme*/queue/nomerges /sys/block/sd*/queue/nomerges; do [ -e $i ] && echo 2 > $i; done; true"
MOST_OUTPUT = 20000


def fio(name, device, kind, block, depth, begin, size):
    return f"fio --name={name} --filename={device} --rw={kind} --bs={block} --iodepth={depth} --offset={begin} --size={size} {FIO}"


class Storage:
    def __init__(self, options):
        sys.path.insert(0, str(LAB))
        os.environ.setdefault("OUT", str(options.cache))
        import lab
        import scenarios
        self.options, self.module, self.scenarios, self.lab = options, lab, scenarios, lab.Lab()
        lab.PCAPS = str(options.results)
        options.results.mkdir(parents=True, exist_ok=True)
        if options.only:
            os.environ["ONLY"] = options.only

    def boot(self):
        print("guests: %.0f s to boot" % self.lab.start(timeout=1800), flush=True)
        shutil.copy(HERE / "target.sh", pathlib.Path(self.module.SHARE, "bin"))
        self.scenarios.use(self.lab, "rxe")

    def target(self, what):
        said = self.lab.ex("A", f"bash /lab/bin/target.sh {what}", LIMIT)
        if said["rc"]:
            raise RuntimeError(f"target.sh {what}: {said['output'][-1500:]}")
        return said["output"]

    def captures(self, name, about, target):
        for case in self.module.case(self.lab, name, about, "rxe", max_mb=40):
            case.extra["target"] = target
            self.lab.ex("B", "dmesg -C", LIMIT)
            yield case

    def lossy(self, name, about, prepare, begin, load, end):
        """Captures with packets that are lost before and behind the tap, while the load runs alone. Guests that do not come through
        it boot again."""
        for suffix, (node, command, what) in (("loss", LOSS), ("rxdrop", RXDROP)):
            for _ in range(TRIES):
                logs = []
                self.boot()
                for case in self.captures(f"{name}-{suffix}", f"{about} while {what}", prepare()):
                    logs = case.log
                    case.extra["impairment"] = {"node": node, "commands": [command]}
                    case.ex("B", begin, LIMIT)
                    case.ex(node, f"modprobe -a sch_netem act_gact cls_matchall sch_ingress; {command}", LIMIT)
                    for each in load:
                        case.ex("B", each, 100)
                    case.ex(node, "tc -s qdisc show dev eth0; tc -s filter show dev eth0 ingress; tc qdisc del dev eth0 root; tc qdisc del dev eth0 clsact; true", LIMIT)
                    case.ex("B", end, 100)
                if all(each["rc"] == 0 for each in logs):
                    break

    def prepare_nvme(self):
        self.lab.ex("B", "modprobe nvme_rdma; mkdir -p /etc/nvme; uuidgen > /etc/nvme/hostid; "
                         "echo nqn.2014-08.org.nvmexpress:uuid:$(cat /etc/nvme/hostid) > /etc/nvme/hostnqn", LIMIT)
        return self.target("nvme")

    def nvme(self):
        self.boot()
        said = self.prepare_nvme()
        connect = f"nvme connect -t rdma -a {A} -s 4420 -n nqn.2024-01.lab:faults -i 1 -Q 64 --reconnect-delay=2; sleep 2; nvme list; " + APART
        disconnect = "nvme disconnect -n nqn.2024-01.lab:faults"
        for case in self.captures("nvme-rdma-rxe-deep", "NVMe over RDMA over rxe: fio with 32 reads, 48 writes and 8 large reads in the queue", said):
            case.ex("B", connect, LIMIT)
            case.ex("B", fio("reads", "/dev/nvme0n1", "randread", "4k", 32, "5m", "1m"), LIMIT)
            case.ex("B", fio("writes", "/dev/nvme0n1", "randwrite", "4k", 48, "8m", "1m"), LIMIT)
            case.ex("B", fio("large", "/dev/nvme0n1", "randread", "64k", 8, "16m", "1m"), LIMIT)
            case.ex("B", disconnect, LIMIT)
        for case in self.captures("nvme-rdma-rxe-errors", "NVMe over RDMA over rxe: reads and writes of failing media, writes until there is no space, an abort", said):
            case.ex("B", connect, LIMIT)
            case.ex("B", "D=/dev/nvme0n2; dd if=$D of=/dev/null bs=4k count=8 skip=4092 iflag=direct; dd if=$D of=/dev/null bs=4k count=4 skip=8000 iflag=direct; "
                         "dd if=/dev/zero of=$D bs=4k count=4 seek=4094 oflag=direct", LIMIT)
            case.ex("B", "D=/dev/nvme0n3; dd if=/dev/zero of=$D bs=64k count=80 seek=80 oflag=direct", LIMIT)
            case.ex("B", "nvme admin-passthru /dev/nvme0 --opcode=0x08 --cdw10=0x00050001", LIMIT)
            case.ex("B", KERNEL, LIMIT)
            case.ex("B", disconnect, LIMIT)
        for case in self.captures("nvme-rdma-rxe-timeout", "NVMe over RDMA over rxe: a device stops for 12 s, the commands time out after 6 s, the host connects again", said):
            self.lab.ex("B", "echo 6 > /sys/module/nvme_core/parameters/io_timeout", LIMIT)
            case.ex("B", connect, LIMIT)
            case.ex("A", "dmsetup suspend slow", LIMIT)
            reading = case.bg("B", "D=/dev/nvme0n4; dd if=$D of=/dev/null bs=4k count=16 skip=1280 iflag=direct", LIMIT)
            case.ex("B", "sleep 12", LIMIT)
            case.ex("A", "dmsetup resume slow", LIMIT)
            case.wait(reading, LIMIT)
            case.ex("B", KERNEL, LIMIT)
            case.ex("B", disconnect, LIMIT)
            self.lab.ex("B", "echo 30 > /sys/module/nvme_core/parameters/io_timeout", LIMIT)
        self.boot()
        self.prepare_nvme()
        self.target("stop-nvme")
        said = self.target("nvme-shared")
        for case in self.captures("nvme-rdma-rxe-rnr", "NVMe over RDMA over rxe: 360 reads of three subsystems wait for a device that stopped, "
                                  "but the target has 256 receives for all: RNR", said):
            names = ("one", "two", "three")
            case.ex("B", "".join(f"nvme connect -t rdma -a {A} -s 4420 -n nqn.2024-01.lab:{name} -i 1 -Q 128; " for name in names) + "sleep 2; nvme list; " + APART, LIMIT)
            case.ex("A", "dmsetup suspend slow", LIMIT)
            jobs = [case.bg("B", fio("waiting", f"/dev/nvme{i}n1", "read", "4k", 120, "5m", "480k"), LIMIT) for i in range(3)]
            case.ex("B", "for i in $(seq 300); do [ $(cat /sys/block/nvme*n1/inflight | awk '{ n += $1 } END { print n }') -ge 360 ] && break; sleep 0.2; done; "
                         "sleep 1; cat /sys/block/nvme*n1/inflight", LIMIT)
            case.ex("A", "dmsetup resume slow", LIMIT)
            for job in jobs:
                case.wait(job, LIMIT)
            case.ex("B", KERNEL, LIMIT)
            case.ex("B", "".join(f"nvme disconnect -n nqn.2024-01.lab:{name}; " for name in names), LIMIT)
        self.lossy("nvme-rdma-rxe", "NVMe over RDMA over rxe: fio and dd", self.prepare_nvme, connect, (
            fio("mixed", "/dev/nvme0n1", "randrw", "4k", 4, "5m", "512k"),
            "D=/dev/nvme0n1; dd if=/dev/zero of=$D bs=64k count=4 seek=128 oflag=direct; dd if=$D of=/dev/null bs=64k count=4 skip=128 iflag=direct"), disconnect)

    def prepare_nfs(self):
        self.lab.ex("B", "mkdir -p /mnt/n /mnt/m /var/lib/nfs/rpc_pipefs /run/rpcbind; modprobe -a rpcrdma nfs nfsv4 nfsv3; "
                         "mount -t rpc_pipefs s /var/lib/nfs/rpc_pipefs; pgrep rpcbind || rpcbind -w; pgrep rpc.statd || rpc.statd; true", LIMIT)
        return self.target("nfs")

    def nfs(self):
        self.boot()
        said = self.prepare_nfs()

        def mount(source, place="/mnt/n", words="vers=4.2"):
            return f"mount -t nfs -o rdma,port=20049,{words} {A}:{source} {place} && nfsstat -m"

        for case in self.captures("nfs-rdma-rxe-deep", "NFSv3 over RDMA over rxe: fio with 32 reads and 32 writes on the way", said):
            case.ex("B", mount("/srv/exp", words="vers=3,nolock,mountproto=tcp"), LIMIT)
            case.ex("B", fio("reads", "/mnt/n/large", "randread", "4k", 32, "0", "1m"), LIMIT)
            case.ex("B", fio("writes", "/mnt/n/written", "randwrite", "4k", 32, "0", "512k") + " --fallocate=none --overwrite=0 --end_fsync=1", LIMIT)
            case.ex("B", MOUNTSTATS, LIMIT)
            case.ex("B", "umount /mnt/n", LIMIT)
        for case in self.captures("nfs-rdma-rxe-errors", "NFSv4.2 over RDMA over rxe: a read of failing media, writes until there is no space", said):
            case.ex("B", mount("/bad"), LIMIT)
            case.ex("B", mount("/full", "/mnt/m"), LIMIT)
            case.ex("B", "dd if=/mnt/n/damaged of=/dev/null bs=32k iflag=direct", LIMIT)
            case.ex("B", "dd if=/dev/zero of=/mnt/m/more bs=64k count=40 oflag=direct", LIMIT)
            case.ex("B", MOUNTSTATS, LIMIT)
            case.ex("B", "umount /mnt/n /mnt/m; dmesg | tail -n 20", LIMIT)
        for case in self.captures("nfs-rdma-rxe-timeout", "NFSv3 over RDMA over rxe, soft: a device stops for 20 s, the client asks again after 3 s and gives up", said):
            case.ex("B", mount("/srv/exp/slow", words="vers=3,nolock,mountproto=tcp,soft,timeo=30,retrans=1"), LIMIT)
            case.ex("A", "echo 3 > /proc/sys/vm/drop_caches; dmsetup suspend slow", LIMIT)
            reading = case.bg("B", "dd if=/mnt/n/large of=/dev/null bs=64k count=4 iflag=direct", LIMIT)
            case.ex("B", "sleep 20", LIMIT)
            case.ex("A", "dmsetup resume slow", LIMIT)
            case.wait(reading, LIMIT)
            case.ex("B", MOUNTSTATS, LIMIT)
            case.ex("B", "umount /mnt/n; dmesg | tail -n 20", LIMIT)
        self.lossy("nfs-rdma-rxe", "NFSv4.2 over RDMA over rxe: dd reads and writes", self.prepare_nfs, mount("/"), (
            "cd /mnt/n; dd if=large of=/dev/null bs=64k count=8 iflag=direct; dd if=/dev/zero of=written bs=64k count=8 oflag=direct; rm written", MOUNTSTATS),
            "umount /mnt/n")

    def prepare_iser(self):
        self.lab.ex("B", "modprobe ib_iser; mkdir -p /run/lock/iscsi /etc/iscsi; echo InitiatorName=iqn.2024-01.lab:init > /etc/iscsi/initiatorname.iscsi; "
                         "pgrep iscsid || iscsid; sleep 1; pgrep -a iscsid", LIMIT)
        return self.target("iser")

    def iser(self):
        self.boot()
        said = self.prepare_iser()
        node = f"iscsiadm -m node -T iqn.2024-01.lab:faults -p {A}:3260 -I iser"
        login = (f"iscsiadm -m node -o new -T iqn.2024-01.lab:faults -p {A}:3260 -I iser; {node} --login; "
                 "for i in $(seq 100); do [ $(ls -d /sys/class/scsi_device/*:?/device/block/* | wc -l) -ge 5 ] && break; sleep 0.2; done; sleep 2; ls -l /sys/block; " + APART)
        logout = f"{node} --logout; iscsiadm -m node -o delete -T iqn.2024-01.lab:faults"
        disk = lambda lun: f"D=/dev/$(ls /sys/class/scsi_device/*:{lun}/device/block); "  # noqa: E731
        for case in self.captures("iser-rxe-deep", "iSER over rxe: fio with 32 reads, 48 writes and 8 large reads in the queue", said):
            case.ex("B", login, LIMIT)
            case.ex("B", disk(0) + fio("reads", "$D", "randread", "4k", 32, "5m", "1m"), LIMIT)
            case.ex("B", disk(0) + fio("writes", "$D", "randwrite", "4k", 48, "8m", "1m"), LIMIT)
            case.ex("B", disk(0) + fio("large", "$D", "randread", "64k", 8, "16m", "1m"), LIMIT)
            case.ex("B", logout, LIMIT)
        for case in self.captures("iser-rxe-errors", "iSER over rxe: reads and writes of failing media (device mapper, scsi_debug), writes until there is no space", said):
            case.ex("B", login, LIMIT)
            case.ex("B", disk(1) + "dd if=$D of=/dev/null bs=4k count=8 skip=4092 iflag=direct; dd if=/dev/zero of=$D bs=4k count=4 seek=4094 oflag=direct", LIMIT)
            case.ex("B", disk(2) + "dd if=/dev/zero of=$D bs=64k count=80 seek=80 oflag=direct", LIMIT)
            case.ex("B", disk(4) + "dd if=$D of=/dev/null bs=4k count=4 skip=2046 iflag=direct", LIMIT)
            case.ex("B", KERNEL, LIMIT)
            case.ex("B", logout, LIMIT)
        for case in self.captures("iser-rxe-timeout", "iSER over rxe: a device stops for 14 s, the initiator aborts its command after 6 s and asks again", said):
            case.ex("B", login, LIMIT)
            case.ex("A", "dmsetup suspend slow", LIMIT)
            self.lab.ex("B", "echo 6 > /sys/class/scsi_device/*:3/device/timeout", LIMIT)
            reading = case.bg("B", disk(3) + "dd if=$D of=/dev/null bs=4k count=16 skip=1280 iflag=direct", LIMIT)
            case.ex("B", "sleep 14", LIMIT)
            case.ex("A", "dmsetup resume slow", LIMIT)
            case.wait(reading, LIMIT)
            case.ex("B", KERNEL, LIMIT)
            case.ex("B", logout, LIMIT)
        self.lossy("iser-rxe", "iSER over rxe: fio and dd", self.prepare_iser, login, (
            disk(0) + fio("mixed", "$D", "randrw", "4k", 4, "5m", "512k"),
            disk(0) + "dd if=/dev/zero of=$D bs=64k count=4 seek=128 oflag=direct; dd if=$D of=/dev/null bs=64k count=4 skip=128 iflag=direct"), logout)

    def run(self):
        for part in self.options.part or ("nvme", "nfs", "iser"):
            try:
                getattr(self, part)()
            except Exception as problem:  # noqa: BLE001: the other parts go on
                print(f"FAILED {part}: {problem}", flush=True)
        if not self.options.keep:
            self.lab.stop()


def shortened(text):
    return text if len(text) <= MOST_OUTPUT else text[:MOST_OUTPUT // 2] + "\n[...]\n" + text[-MOST_OUTPUT // 2:]


def keep(results):
    """Captures and their JSON, as pcaps/ has them."""
    for path in sorted(results.glob("*.json")):
        record = json.loads(path.read_text())
        for command in record["commands"]:
            command["output"] = shortened(command["output"])
        (ROOT / "pcaps" / path.name).write_text(json.dumps(record, indent=1) + "\n")
        with open(path.with_suffix(".pcap"), "rb") as source, gzip.GzipFile(ROOT / "pcaps" / f"{path.stem}.pcap.gz", "wb", compresslevel=9, mtime=0) as target:
            shutil.copyfileobj(source, target)
        print(f"kept: {path.stem}: {record['frames']} frames")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "lab" / "storage")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "rdma-lab")
    parser.add_argument("--part", action="append", choices=["nvme", "nfs", "iser"], help="only these")
    parser.add_argument("--only", help="only captures whose name matches")
    parser.add_argument("--keep", action="store_true", help="leave the guests running")
    parser.add_argument("--keep-captures", action="store_true", help="only put what is in the results into pcaps/")
    options = parser.parse_args()
    if options.keep_captures:
        keep(options.results)
        return
    if not (LAB / "lab.py").exists():
        sys.exit(f"lab: no lab.py in {LAB}; set RDMASCOPE_LAB to the folder of the laboratory")
    Storage(options).run()


if __name__ == "__main__":
    main()
