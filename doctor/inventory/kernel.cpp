#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <memory>
#include <zlib.h>
#include <zstd.h>

#include "base/ascii.h"
#include "doctor/inventory/elf_contents.h"
#include "doctor/inventory/readers.h"
#include "doctor/strings.h"

namespace doctor::inline inventory {

namespace {

constexpr std::size_t longest_module = std::size_t{64} << 20;
constexpr std::size_t longest_index = std::size_t{16} << 20;

/// A kernel driver, the module that makes RDMA devices of what it drives, and the provider in userspace.
struct DriverRow {
    std::string_view driver, half, provider;
};
constexpr std::array driver_rows{
    DriverRow{"mlx5_core", "mlx5_ib", "mlx5"},
    DriverRow{"mlx4_core", "mlx4_ib", "mlx4"},
    DriverRow{"bnxt_en", "bnxt_re", "bnxt_re"},
    DriverRow{"ice", "irdma", "irdma"},
    DriverRow{"i40e", "irdma", "irdma"},
    DriverRow{"cxgb4", "iw_cxgb4", "cxgb4"},
    DriverRow{"qede", "qedr", "qedr"},
    DriverRow{"be2net", "ocrdma", "ocrdma"},
    DriverRow{"hns3", "hns_roce_hw_v2", "hns"},
    DriverRow{"mana", "mana_ib", "mana"},
    DriverRow{"efa", "efa", "efa"},
    DriverRow{"erdma", "erdma", "erdma"},
    DriverRow{"vmw_pvrdma", "vmw_pvrdma", "vmw_pvrdma"},
    DriverRow{"hfi1", "hfi1", "hfi1verbs"},
    DriverRow{"ib_qib", "ib_qib", "ipathverbs"},
    DriverRow{"ib_mthca", "ib_mthca", "mthca"},
    DriverRow{"rxe", "rdma_rxe", "rxe"},
    DriverRow{"siw", "siw", "siw"},
};

constexpr std::array other_modules{
    std::string_view("ib_core"),    std::string_view("ib_uverbs"),   std::string_view("ib_umad"),
    std::string_view("ib_cm"),      std::string_view("iw_cm"),       std::string_view("rdma_cm"),
    std::string_view("rdma_ucm"),   std::string_view("ib_ipoib"),    std::string_view("rdmavt"),
    std::string_view("mlx_compat"), std::string_view("nvme_rdma"),   std::string_view("nvmet_rdma"),
    std::string_view("ib_iser"),    std::string_view("ib_isert"),    std::string_view("ib_srp"),
    std::string_view("ib_srpt"),    std::string_view("rpcrdma"),     std::string_view("rds_rdma"),
    std::string_view("smc"),        std::string_view("nv_peer_mem"), std::string_view("nvidia_peermem"),
};

const DriverRow* row_of(std::string_view driver) {
    const auto* at = std::find_if(driver_rows.begin(), driver_rows.end(),
                                  [driver](const DriverRow& row) { return row.driver == driver; });
    return at == driver_rows.end() ? nullptr : at;
}

/// At most longest_module bytes of a compressed file; empty if it cannot be unpacked.
std::string unpack_zstd(const std::string& packed) {
    const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
    std::string out;
    std::string piece(ZSTD_DStreamOutSize(), '\0');
    ZSTD_inBuffer input{packed.data(), packed.size(), 0};
    for (std::size_t left = 1; left != 0 && out.size() < longest_module;) {
        ZSTD_outBuffer output{piece.data(), piece.size(), 0};
        left = ZSTD_decompressStream(context.get(), &output, &input);
        if (ZSTD_isError(left)) return {};
        out.append(piece, 0, output.pos);
        if (output.pos == 0 && input.pos == input.size) break;
    }
    return out;
}

std::string unpack_gzip(std::string& packed) {
    z_stream stream{};
    constexpr int gzip_window = 15 + 16;
    if (::inflateInit2(&stream, gzip_window) != Z_OK) return {};
    std::string out;
    std::string piece(std::size_t{256} << 10, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    int state = Z_OK;
    while (state == Z_OK && out.size() < longest_module) {
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        state = ::inflate(&stream, Z_NO_FLUSH);
        out.append(piece, 0, piece.size() - stream.avail_out);
    }
    ::inflateEnd(&stream);
    return state == Z_STREAM_END || state == Z_OK ? out : std::string{};
}

/// What the module's file says of itself.
void read_module_file(const Root& root, Module& module) {
    if (module.file.ends_with(".xz")) {
        module.problem = "its file is packed by xz: `modinfo " + module.name + "` shows what it says";
        return;
    }
    Content content = root.read(module.file, longest_module);
    if (content.sight != Sight::seen || content.cut) {
        module.problem = content.sight == Sight::absent ? "its file is missing" : "its file cannot be read";
        return;
    }
    if (module.file.ends_with(".zst")) content.octets = unpack_zstd(content.octets);
    if (module.file.ends_with(".gz")) content.octets = unpack_gzip(content.octets);
    const base::ElfImage file(std::move(content.octets));
    if (!file.error().empty()) {
        module.problem = "its file is damaged: " + file.error();
        return;
    }
    module.file_srcversion = module_info(file, "srcversion").value_or("");
    module.file_vermagic = module_info(file, "vermagic").value_or("");
    module.in_tree = module_info(file, "intree").has_value();
}

/// Module name -> file, of modules.dep or modules.builtin.
std::map<std::string, std::string> index_of(const Root& root, const std::string& folder, const char* name) {
    std::map<std::string, std::string> files;
    const Content content = root.read(folder / name, longest_index);
    for (std::string_view line : lines(content.octets)) {
        const std::string_view path = base::trimmed(line.substr(0, line.find(':')));
        if (path.empty()) continue;
        files.emplace(module_name(path), path.starts_with('/') ? std::string(path) : folder / path);
    }
    return files;
}

/// The release of the installed modules: the running kernel's, or the only one in an image.
std::string modules_folder(const Root& root, const std::string& release) {
    if (!release.empty()) return "/lib/modules/" + release;
    const auto there = root.list("/lib/modules");
    return there.size() == 1 ? "/lib/modules/" + there.front() : std::string{};
}

void add_loaded(const Root& root, std::map<std::string, Module>& modules, bool& modular) {
    const Content content = root.read("/proc/modules", longest_index);
    modular = content.sight == Sight::seen;
    std::map<std::string, std::string_view> taints;
    std::vector<std::string> users;
    for (std::string_view line : lines(content.octets)) {
        // proc(5): name, size, instances, users, state, address, taint
        const auto parts = words(line);
        if (parts.size() < 4) continue;
        const std::string name(parts[0]);
        taints[name] = parts.size() > 6 ? parts[6] : std::string_view{};
        if (name == "ib_core" || name == "mlx_compat")
            for (std::string_view user : split(parts[3], ','))
                if (!user.empty() && user != "-") users.emplace_back(user);
    }
    for (const auto& [name, taint] : taints) {
        if (!is_rdma_module(name) && row_of(name) == nullptr &&
            std::find(users.begin(), users.end(), name) == users.end())
            continue;
        Module& module = modules[name];
        module.name = name;
        module.loaded = true;
        for (const char letter : taint)
            if (letter >= 'A' && letter <= 'Z') module.taint += letter;
        module.loaded_srcversion = root.line("/sys/module/" + name + "/srcversion").value_or("");
    }
}

std::vector<PciFunction> adapters(const Root& root) {
    std::vector<PciFunction> found;
    for (const std::string& slot : root.list("/sys/bus/pci/devices")) {
        const std::string folder = "/sys/bus/pci/devices/" + slot;
        const auto driver = root.link_name(folder / "driver");
        const auto vendor = root.number(folder / "vendor");
        const auto device = root.number(folder / "device");
        const auto kind = root.number(folder / "class");
        if (!vendor || !device) continue;
        constexpr std::uint64_t mellanox = 0x15b3;
        // Of Mellanox, what is a network or InfiniBand controller has an RDMA half, driven or not.
        const bool idle = !driver && *vendor == mellanox && kind && (*kind >> 16 == 0x02 || *kind >> 8 == 0x0c06);
        if ((driver && row_of(*driver) != nullptr) || idle)
            found.push_back(
                {slot, static_cast<std::uint32_t>(*vendor), static_cast<std::uint32_t>(*device), driver.value_or("")});
    }
    return found;
}

}  // namespace

std::string module_name(std::string_view text) {
    text = text.substr(text.rfind('/') + 1);
    std::string name(text.substr(0, text.find(".ko")));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

std::string_view provider_of(std::string_view kernel_driver) {
    const DriverRow* row = row_of(kernel_driver);
    return row == nullptr ? std::string_view{} : row->provider;
}

std::string_view rdma_half_of(std::string_view kernel_driver) {
    const DriverRow* row = row_of(kernel_driver);
    return row == nullptr ? std::string_view{} : row->half;
}

bool is_rdma_module(std::string_view name) {
    return std::find(other_modules.begin(), other_modules.end(), name) != other_modules.end() ||
           std::any_of(driver_rows.begin(), driver_rows.end(),
                       [name](const DriverRow& row) { return row.half == name; });
}

const Module* Kernel::module(std::string_view name) const {
    const auto at = std::find_if(modules.begin(), modules.end(), [name](const Module& m) { return m.name == name; });
    return at == modules.end() ? nullptr : &*at;
}

Kernel look_at_kernel(const Root& root, const std::string& release) {
    Kernel kernel;
    std::map<std::string, Module> modules;
    add_loaded(root, modules, kernel.modular);
    const std::string folder = modules_folder(root, release);
    const auto files = folder.empty() ? std::map<std::string, std::string>{} : index_of(root, folder, "modules.dep");
    const auto built_in =
        folder.empty() ? std::map<std::string, std::string>{} : index_of(root, folder, "modules.builtin");
    for (const auto& [name, file] : files)
        if (is_rdma_module(name)) modules[name].name = name;
    for (const auto& [name, file] : built_in)
        if (is_rdma_module(name)) {
            modules[name].name = name;
            modules[name].built_in = true;
        }
    for (auto& [name, module] : modules) {
        if (const auto at = files.find(name); at != files.end()) module.file = at->second;
        if (module.loaded && !module.file.empty()) read_module_file(root, module);
        kernel.modules.push_back(std::move(module));
    }
    kernel.taint = root.number("/proc/sys/kernel/tainted");
    kernel.verbs_abi = root.number("/sys/class/infiniband_verbs/abi_version");
    kernel.adapters = adapters(root);
    return kernel;
}

}  // namespace doctor::inventory
