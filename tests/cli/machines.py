"""Machines as trees of files, for `rdmascope doctor --root`: libraries, sysfs and /proc as a host with RDMA has them."""
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

TRIPLET = "x86_64-linux-gnu" if os.uname().machine == "x86_64" else "aarch64-linux-gnu"
LIBRARIES = f"/usr/lib/{TRIPLET}"
PROVIDERS = f"{LIBRARIES}/libibverbs"
CORE = f"{LIBRARIES}/libibverbs.so.1.14.44.0"
KERNEL = "6.1.0-56-amd64"

# What the tests below must not find in a bundle.
HOST, DOMAIN, USER, FULL_NAME = "quartz17", "lab.example.org", "mmustermann", "Maria Mustermann"
MAC, GUID = "0c:42:a1:5e:77:10", "0c42:a103:005e:7710"
IPV4, IPV6 = "198.51.100.77", "2001:db8:77::17"

CORE_SOURCE = """
const char *patterns[] = {"%(providers)s/lib%%s-rdmav%(suffix)d.so", "lib%%s-rdmav%(suffix)d.so", "/etc/libibverbs.d"};
int ibv_get_device_list(void) { return 1; }
int ibv_open_device(void) { return 1; }
int ibv_new_call(void) { return 1; }
int verbs_register_driver_%(suffix)d(const void *ops) { return ops != 0; }
"""
CORE_VERSIONS = """
IBVERBS_1.0 { global: patterns; local: *; };
IBVERBS_1.1 { global: ibv_get_device_list; ibv_open_device; } IBVERBS_1.0;
%(newest)s
IBVERBS_PRIVATE_%(suffix)d { global: verbs_register_driver_%(suffix)d; };
"""
NEWEST = "IBVERBS_1.14 { global: ibv_new_call; } IBVERBS_1.1;"
# As rdma-core's libibverbs/driver.h begins: name, least and most ABI, table.
PROVIDER_SOURCE = """
struct ops { const char *name; unsigned least, most; const void *table; };
static const struct ops driver_ops = {"%(name)s", %(least)d, %(most)d, &driver_ops};
int verbs_register_driver_%(suffix)d(const void *ops);
__attribute__((constructor)) static void begin(void) { verbs_register_driver_%(suffix)d(&driver_ops); }
"""
CM_SOURCE = "int ibv_get_device_list(void); int ibv_new_call(void);\n" \
            "int rdma_create_id(void) { return ibv_get_device_list() + ibv_new_call(); }\n"


def has_compiler():
    return shutil.which("cc") is not None


@functools.lru_cache(maxsize=None)
def workshop():
    """A folder for what is compiled, once for all tests."""
    folder = tempfile.TemporaryDirectory(prefix="rdmascope-doctor-")
    workshop.keep = folder
    return pathlib.Path(folder.name)


@functools.lru_cache(maxsize=None)
def compiled(name, source, versions="", libraries=(), options=("-shared",), soname=""):
    """The path of a program or library made of `source`."""
    folder = workshop() / f"{abs(hash((name, source, versions, libraries, options)))}"
    folder.mkdir()
    (folder / "source.c").write_text(source)
    command = ["cc", "-O1", "-fPIC", "-w", "-nostartfiles" if "-shared" in options else "-O1", "-Wl,--build-id", *options,
               "-o", folder / name, folder / "source.c", *libraries]
    if versions:
        (folder / "versions").write_text(versions)
        command.append(f"-Wl,--version-script={folder / 'versions'}")
    if soname:
        command.append(f"-Wl,-soname,{soname}")
    subprocess.run(command, check=True, capture_output=True)
    return folder / name


def core_library(suffix=34, newest=NEWEST, providers=PROVIDERS):
    values = {"suffix": suffix, "newest": newest, "providers": providers}
    return compiled("libibverbs.so.1", CORE_SOURCE % values, CORE_VERSIONS % values, soname="libibverbs.so.1")


def provider_library(name, suffix=34, least=1, most=1):
    source = PROVIDER_SOURCE % {"name": name, "suffix": suffix, "least": least, "most": most}
    return compiled(f"lib{name}-rdmav{suffix}.so", source, libraries=(core_library(suffix),))


def cm_library():
    return compiled("librdmacm.so.1", CM_SOURCE, "RDMACM_1.0 { global: rdma_create_id; local: *; };",
                    libraries=(core_library(),), soname="librdmacm.so.1")


def program(source, *libraries):
    # What a library needs itself is not asked for here: some tests take it away.
    return compiled("program", source, libraries=tuple(libraries) + ("-Wl,--allow-shlib-undefined",), options=("-no-pie",))


def module_file(srcversion, in_tree=True, vermagic=f"{KERNEL} SMP mod_unload"):
    info = f"vermagic={vermagic}\\0" f"srcversion={srcversion}\\0" + ("intree=Y\\0" if in_tree else "")
    return compiled("module.ko", f'const char info[] __attribute__((section(".modinfo"))) = "{info}";', options=("-c",))


class Machine:
    """A healthy host with one RoCE adapter; tests then break something."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        self.libraries()
        self.kernel()
        self.device()
        self.processes()
        self.names()

    def at(self, path):
        """Where a path is. Absolute links are the staged machine's: whoever followed one from here would leave it."""
        place = self.root / path.lstrip("/")
        for folder in place.parents:
            if folder != self.root and self.root in folder.parents and folder.is_symlink():
                raise ValueError(f"{path}: {folder} is a link; name what it points at")
        return place

    def write(self, path, text=""):
        target = self.at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        return target

    def copy(self, file, path):
        target = self.at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() or target.is_symlink():
            target.unlink()
        shutil.copy(file, target)

    def link(self, path, to):
        link = self.at(path)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(to)

    def remove(self, path):
        target = self.at(path)
        shutil.rmtree(target) if target.is_dir() and not target.is_symlink() else target.unlink()

    def libraries(self):
        self.copy(core_library(), CORE)
        # An absolute link must stay inside the tree.
        self.link(f"{LIBRARIES}/libibverbs.so.1", CORE)
        self.copy(cm_library(), f"{LIBRARIES}/librdmacm.so.1")
        for name in ("mlx5", "siw", "rxe"):
            self.provider(name)
        self.package("libibverbs1", "44.0-2", CORE, f"{LIBRARIES}/libibverbs.so.1")
        self.package("librdmacm1", "44.0-2", f"{LIBRARIES}/librdmacm.so.1")
        self.write("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
        self.write("/etc/ld.so.conf.d/libc.conf", "# libc\n/usr/local/lib\n")

    def provider(self, name, **options):
        suffix = options.get("suffix", 34)
        self.copy(provider_library(name, **options), f"{PROVIDERS}/lib{name}-rdmav{suffix}.so")
        self.write(f"/etc/libibverbs.d/{name}.driver", f"driver {name}\n")

    def package(self, name, version, *files):
        self.write(f"/var/lib/dpkg/info/{name}:amd64.list", "".join(f"{path}\n" for path in ("/.", *files)))
        status = self.at("/var/lib/dpkg/status")
        before = status.read_text() if status.exists() else ""
        self.write("/var/lib/dpkg/status", f"{before}Package: {name}\nStatus: install ok installed\nVersion: {version}\n\n")

    def module(self, name, folder="infiniband/core", srcversion="0123456789ABCDEF01234567", **options):
        path = f"kernel/drivers/{folder}/{name}.ko"
        self.copy(module_file(srcversion, **options), f"/lib/modules/{KERNEL}/{path}")
        return path

    def kernel(self):
        self.write("/proc/sys/kernel/osrelease", f"{KERNEL}\n")
        self.write("/proc/sys/kernel/tainted", "0\n")
        self.write("/etc/os-release", 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')
        self.loaded = {}
        for name in ("ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm", "mlx5_ib"):
            self.load(name)
        self.write("/sys/class/infiniband_verbs/abi_version", "6\n")

    def load(self, name, path=None, taint="", srcversion="0123456789ABCDEF01234567", **options):
        path = path or self.module(name, srcversion=srcversion, **options)
        self.loaded[name] = (path, taint)
        self.write(f"/sys/module/{name}/srcversion", f"{srcversion}\n")
        users = ",".join(n for n in self.loaded if n != "ib_core") + ","
        self.write("/proc/modules", "".join(f"{n} 4096 1 {users if n == 'ib_core' else '-'} Live 0x0000000000000000{t and f' ({t})'}\n"
                                            for n, (_, t) in self.loaded.items()))
        self.write(f"/lib/modules/{KERNEL}/modules.dep", "".join(f"{p}:\n" for p, _ in self.loaded.values()))
        self.write(f"/lib/modules/{KERNEL}/modules.builtin", "kernel/fs/ext4/ext4.ko\n")

    def device(self):
        pci = "/sys/devices/pci0000:00/0000:3b:00.0"
        self.write(f"{pci}/vendor", "0x15b3\n")
        self.write(f"{pci}/device", "0x101d\n")
        self.write(f"{pci}/class", "0x020000\n")
        self.link(f"{pci}/driver", "/sys/bus/pci/drivers/mlx5_core")
        self.at("/sys/bus/pci/drivers/mlx5_core").mkdir(parents=True)
        self.link("/sys/bus/pci/devices/0000:3b:00.0", "/sys/devices/pci0000:00/0000:3b:00.0")
        device = f"{pci}/infiniband/mlx5_0"
        self.link("/sys/class/infiniband/mlx5_0", device)
        self.link(f"{device}/device", pci)
        self.write(f"{device}/node_type", "1: CA\n")
        self.write(f"{device}/node_desc", f"{HOST} mlx5_0\n")
        self.write(f"{device}/node_guid", f"{GUID}\n")
        self.write(f"{device}/fw_ver", "22.36.1010\n")
        self.write(f"{device}/board_id", "MT_0000000359\n")
        port = f"{device}/ports/1"
        for name, text in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("link_layer", "Ethernet"),
                           ("rate", "100 Gb/sec (2X HDR)"), ("hw_counters/out_of_sequence", "0"), ("counters/port_rcv_data", "0")):
            self.write(f"{port}/{name}", f"{text}\n")
        self.gids(("fe80:0000:0000:0000:0e42:a1ff:fe5e:7710", "RoCE v2"),
                  ("0000:0000:0000:0000:0000:ffff:c633:644d", "RoCE v2"), ("2001:0db8:0077:0000:0000:0000:0000:0017", "RoCE v2"))
        self.write("/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode", "RoCE v2\n")
        self.write("/sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n")
        self.write("/sys/class/infiniband_verbs/uverbs0/abi_version", "1\n")
        self.write("/dev/infiniband/uverbs0").chmod(0o666)
        self.write("/dev/infiniband/rdma_cm").chmod(0o666)
        net = "/sys/class/net/ens1f0"
        for name, text in (("mtu", "9000"), ("operstate", "up"), ("speed", "100000"), ("address", MAC), ("qos/trust", "dscp"),
                           ("qos/pfc", "0 0 0 1 0 0 0 0")):
            self.write(f"{net}/{name}", f"{text}\n")
        self.link(f"{net}/device", pci)
        for half in ("roce_np", "roce_rp"):
            for priority in range(8):
                self.write(f"{net}/ecn/{half}/enable/{priority}", "1\n")

    def gids(self, *gids):
        port = "/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/ports/1"
        for folder in ("gids", "gid_attrs"):
            if self.at(f"{port}/{folder}").exists():
                self.remove(f"{port}/{folder}")
        for index in range(4):
            gid, kind = gids[index] if index < len(gids) else ("0000:0000:0000:0000:0000:0000:0000:0000", "")
            self.write(f"{port}/gids/{index}", f"{gid}\n")
            if kind:
                self.write(f"{port}/gid_attrs/types/{index}", f"{kind}\n")
                self.write(f"{port}/gid_attrs/ndevs/{index}", "ens1f0\n")

    def processes(self):
        self.write("/proc/4242/limits")
        self.link("/proc/self", "4242")
        self.write("/proc/4242/status", "Name:\trdmascope\nCapEff:\t000001ffffffffff\n")
        self.memlock("unlimited")
        self.write("/proc/4242/environ", b"PATH=/bin\0")
        self.write("/proc/4242/mounts", "tracefs /sys/kernel/tracing tracefs rw 0 0\n")
        self.write("/sys/kernel/tracing/uprobe_events")
        self.write("/sys/kernel/tracing/events/rdma_core/enable", "0\n")
        self.write("/sys/kernel/btf/vmlinux", b"\x9f\xeb")
        self.write("/proc/sys/kernel/perf_event_paranoid", "1\n")
        self.write("/proc/sys/kernel/kptr_restrict", "0\n")
        self.write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")

    def memlock(self, soft):
        self.write("/proc/4242/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"
                                        f"Max locked memory         {soft:<20} {soft:<20} bytes     \n")

    def process(self, pid, command, *paths):
        self.write(f"/proc/{pid}/comm", f"{command}\n")
        self.write(f"/proc/{pid}/maps", "".join(
            f"7f0000000000-7f0000001000 r-xp 00000000 08:01 4711    {path}\n" for path in (f"{LIBRARIES}/libc.so.6", *paths)))

    def names(self):
        self.write("/proc/sys/kernel/hostname", f"{HOST}\n")
        self.write("/etc/hostname", f"{HOST}\n")
        self.write("/etc/hosts", f"127.0.0.1 localhost\n{IPV4} {HOST}.{DOMAIN} {HOST}\n{IPV6} storage03.{DOMAIN} storage03\n")
        self.write("/etc/resolv.conf", f"search {DOMAIN}\nnameserver 198.51.100.53\n")
        self.write("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"
                                  f"{USER}:x:1000:1000:{FULL_NAME},,,:/home/{USER}:/bin/bash\n")
        self.at(f"/home/{USER}").mkdir(parents=True)
