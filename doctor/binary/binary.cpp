#include "doctor/binary/binary.h"

#include <algorithm>
#include <array>
#include <elf.h>
#include <fmt/core.h>
#include <set>

#include "base/printable.h"
#include "base/shell_word.h"
#include "doctor/binary/loaded.h"
#include "doctor/inventory/readers.h"
#include "doctor/strings.h"

namespace doctor::inline binary {

namespace {

constexpr std::array binary_checks_table{
    Check{"binary.file", "it is a program that can be examined", Severity::broken, "its ELF header", nullptr},
    Check{"binary.library", "the libraries that it needs are there", Severity::broken,
          "DT_NEEDED, RPATH, RUNPATH, LD_LIBRARY_PATH, ld.so.cache", nullptr},
    Check{"binary.version", "the libraries have the versions that it needs", Severity::broken,
          ".gnu.version_r against .gnu.version_d", nullptr},
    Check{"binary.symbol", "the libraries have the calls that it makes", Severity::broken, "dynamic symbol tables",
          nullptr},
    Check{"binary.dlopen", "what it may load while it runs is there", Severity::warning, "texts in its file", nullptr},
    Check{"binary.provider", "its libibverbs finds providers that fit", Severity::broken,
          "as the checks provider.* and device.provider, for the libibverbs that this program gets", nullptr},
    Check{"binary.rdma", "it uses RDMA", Severity::note, "libraries that it needs or names", nullptr},
};

constexpr std::array rdma_libraries{
    std::string_view("libibverbs.so.1"), std::string_view("librdmacm.so.1"), std::string_view("libmlx5.so.1"),
    std::string_view("libmlx4.so.1"),    std::string_view("libefa.so.1"),    std::string_view("libmana.so.1"),
    std::string_view("libhns.so.1"),     std::string_view("libibumad.so.3"), std::string_view("libibmad.so.5"),
};

bool is_rdma_library(std::string_view name) {
    return std::any_of(rdma_libraries.begin(), rdma_libraries.end(),
                       [name](std::string_view known) { return name.starts_with(known.substr(0, known.rfind('.'))); });
}

/// The package of Debian that has a library; empty if the library is not part of RDMA.
std::string_view package_of(std::string_view library) {
    constexpr std::array packages{
        std::pair{std::string_view("libibverbs.so.1"), std::string_view("libibverbs1")},
        std::pair{std::string_view("librdmacm.so.1"), std::string_view("librdmacm1")},
        std::pair{std::string_view("libmlx5.so.1"), std::string_view("ibverbs-providers")},
        std::pair{std::string_view("libmlx4.so.1"), std::string_view("ibverbs-providers")},
        std::pair{std::string_view("libefa.so.1"), std::string_view("ibverbs-providers")},
        std::pair{std::string_view("libmana.so.1"), std::string_view("ibverbs-providers")},
        std::pair{std::string_view("libhns.so.1"), std::string_view("ibverbs-providers")},
        std::pair{std::string_view("libibumad.so.3"), std::string_view("libibumad3")},
        std::pair{std::string_view("libibmad.so.5"), std::string_view("libibmad5")},
    };
    for (const auto& [name, package] : packages)
        if (name == library) return package;
    return {};
}

/// Which rdma-core a version of the interface came with (rdma-core, debian/*.symbols).
std::string since(std::string_view version) {
    constexpr std::array releases{
        std::pair{std::string_view("IBVERBS_1.5"), 20},  std::pair{std::string_view("IBVERBS_1.6"), 24},
        std::pair{std::string_view("IBVERBS_1.7"), 25},  std::pair{std::string_view("IBVERBS_1.8"), 28},
        std::pair{std::string_view("IBVERBS_1.9"), 30},  std::pair{std::string_view("IBVERBS_1.10"), 31},
        std::pair{std::string_view("IBVERBS_1.11"), 32}, std::pair{std::string_view("IBVERBS_1.12"), 34},
        std::pair{std::string_view("IBVERBS_1.13"), 35}, std::pair{std::string_view("IBVERBS_1.14"), 36},
        std::pair{std::string_view("RDMACM_1.1"), 16},   std::pair{std::string_view("RDMACM_1.2"), 23},
        std::pair{std::string_view("RDMACM_1.3"), 31},
    };
    for (const auto& [name, release] : releases)
        if (name == version) return fmt::format("rdma-core {} or later", release);
    if (version.starts_with("IBVERBS_PRIVATE_")) return "the libibverbs of the same release as this library";
    if (version.starts_with("IBVERBS_1.") || version.starts_with("RDMACM_1.")) return "a later rdma-core";
    return {};
}

class Examination {
public:
    Examination(const Root& root, const Inventory& machine, BinaryReport& out)
        : root_(root), machine_(machine), path_(root), loaded_(root, path_), out_(out) {}

    void run() {
        report_.begin("binary.file");
        if (const auto loaded = loaded_.load(out_.path); !loaded) {
            const std::string reason = loaded.error().text();
            report_.add(Severity::broken, out_.path, reason, "a 64-bit program or library of this machine");
            out_.verdict = "it cannot be examined: " + reason;
            return finish();
        }
        out_.examined = true;
        const Loaded::Object& program = *loaded_.objects().front();
        if (!program.file->damage().empty())
            report_.add(Severity::warning, out_.path, program.file->damage(), "a whole file",
                        "file " + base::shell_word(out_.path));
        if (!program.file->is_dynamic()) {
            static_program(program);
            return finish();
        }
        interpreter(program);
        libraries();
        versions();
        symbols();
        report_.begin("binary.dlopen");
        const bool dlopens = loaded_later(program);
        uses(dlopens);
        providers();
        conclude();
        finish();
    }

private:
    void finish() {
        out_.findings = report_.take();
        sort_by_severity(out_.findings);
    }

    void static_program(const Loaded::Object& program) {
        out_.starts = true;
        const bool verbs = program.file->octets().find("libibverbs: Warning") != std::string_view::npos;
        out_.verdict = verbs
                           ? "it has a libibverbs of its own built in; whether that fits this kernel shows when it runs"
                           : "it needs no libraries; whether it uses RDMA by itself cannot be seen";
        report_.begin("binary.rdma");
        report_.add(Severity::unseen, out_.path, out_.verdict);
    }

    void interpreter(const Loaded::Object& program) {
        const std::string_view loader = program.file->interpreter();
        if (!loader.empty() && !root_.has(loader))
            report_.add(Severity::broken, out_.path,
                        fmt::format("its loader, {}, is not here", base::printable(loader)),
                        "a program built for this distribution", "file " + base::shell_word(out_.path));
    }

    void libraries() {
        report_.begin("binary.library");
        for (const auto& object : loaded_.objects()) {
            if (object->loader != nullptr) out_.libraries.emplace_back(base::printable(object->name), object->path);
            for (const std::string& name : object->missing) {
                out_.libraries.emplace_back(base::printable(name), "");
                const std::string_view package = package_of(name);
                report_.add(Severity::broken, base::printable(name),
                            fmt::format("{} needs it, and the loader finds none", object->path), "on the loader's path",
                            package.empty() ? "apt-file search " + base::shell_word(base::printable(name))
                                            : fmt::format("apt install {}", package));
            }
        }
        report_.fine(fmt::format("all {} are", out_.libraries.size()));
    }

    void versions() {
        report_.begin("binary.version");
        for (const auto& object : loaded_.objects())
            for (const base::ElfVersionNeed& need : object->file->version_needs()) {
                const Loaded::Object* library = loaded_.find(need.file);
                // What has no versions at all is taken as it is (the loader says so on standard error).
                if (library == nullptr || library->file->version_definitions().empty()) continue;
                for (const std::string_view version : need.versions)
                    if (!library->file->defines_version(version)) missing_version(*object, *library, version);
            }
        report_.fine("they have");
    }

    void missing_version(const Loaded::Object& object, const Loaded::Object& library, std::string_view version) {
        std::vector<std::string> calls;
        for (const base::DynamicSymbol& symbol : object.file->symbols())
            if (!symbol.defined && symbol.version == version) calls.push_back(base::printable(symbol.name));
        const std::string origin = since(version);
        report_.add(Severity::broken, base::printable(version),
                    fmt::format("{} needs {} of {}{}, and {} does not define it: the loader refuses to start",
                                object.path, base::printable(version), library.name,
                                calls.empty() ? "" : fmt::format(" (for {})", listed(calls)), library.path),
                    origin.empty() ? fmt::format("a later {}", library.name) : origin, upgrade(library));
        refused_.insert(std::string(version));
    }

    static std::string upgrade(const Loaded::Object& library) {
        const std::string_view package = package_of(library.name);
        return package.empty() ? "apt install --only-upgrade PACKAGE  # that has " + base::shell_word(library.path)
                               : fmt::format("apt install {}  # of that release, or build the program here", package);
    }

    void symbols() {
        report_.begin("binary.symbol");
        constexpr std::size_t most = 100;
        std::size_t missing = 0;
        bool incomplete = false;
        for (const auto& object : loaded_.objects()) incomplete = incomplete || !object->missing.empty();
        for (const auto& object : loaded_.objects())
            for (const base::DynamicSymbol& symbol : object->file->symbols()) {
                if (symbol.defined || symbol.weak || refused_.contains(std::string(symbol.version))) continue;
                // What a library that is not there would have shows by its absence.
                if (symbol.from.empty() ? incomplete : loaded_.is_missing(symbol.from)) continue;
                if (loaded_.has_symbol(symbol.name, symbol.version) || ++missing > most) continue;
                missing_symbol(*object, symbol);
            }
        report_.fine("they have");
    }

    void missing_symbol(const Loaded::Object& object, const base::DynamicSymbol& symbol) {
        std::string name = base::printable(symbol.name);
        if (!symbol.version.empty()) name += "@" + base::printable(symbol.version);
        const bool experimental = symbol.name.starts_with("ibv_exp_") || symbol.name.starts_with("ibv_cmd_exp_");
        const bool at_start = object.file->binds_now() || !symbol.function;
        const std::string whose =
            symbol.from.empty() ? "no library here" : base::printable(symbol.from) + " here does not";
        report_.add(
            Severity::broken, name,
            fmt::format("{} needs it, and {} {}: {}", object.path, whose, symbol.from.empty() ? "has it" : "have it",
                        at_start ? "the loader refuses to start" : "the program ends where it calls it"),
            experimental          ? "MLNX_OFED 4.9 or older, which had experimental verbs; rdma-core has none"
            : symbol.from.empty() ? "a library that has it"
                                  : fmt::format("a {} that has it", base::printable(symbol.from)),
            experimental
                ? "build the program against rdma-core, whose ibv_*_ex and mlx5dv_* calls replace them"
                : "nm -D --with-symbol-versions LIBRARY | grep " + base::shell_word(base::printable(symbol.name)));
    }

    /// Libraries of RDMA that its texts name, for dlopen(3). True where there are any.
    bool loaded_later(const Loaded::Object& program) {
        const bool asks = std::any_of(
            program.file->symbols().begin(), program.file->symbols().end(),
            [](const base::DynamicSymbol& s) { return !s.defined && (s.name == "dlopen" || s.name == "dlmopen"); });
        if (!asks) return false;
        std::set<std::string> names = texts(*program.file, [](std::string_view text) {
            return is_rdma_library(text) && text.size() < 64 && text.find_first_of(" /%") == std::string_view::npos;
        });
        for (const std::string& name : names) {
            if (loaded_.find(name) != nullptr) continue;
            const Loaded::Object* library = loaded_.add(name);
            if (library == nullptr) {
                report_.add(Severity::warning, name,
                            "its texts name this library, and the loader finds none: it may do without",
                            "on the loader's path",
                            package_of(name).empty() ? std::string{} : fmt::format("apt install {}", package_of(name)));
                continue;
            }
            out_.libraries.emplace_back(name + " (when it asks)", library->path);
        }
        if (names.empty()) return false;
        std::vector<std::string> absent;
        for (const std::string& call : texts(*program.file, [](std::string_view text) {
                 return text.size() < 64 && (text.starts_with("ibv_") || text.starts_with("mlx5dv_")) &&
                        text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
             }))
            if (!loaded_.has_symbol(call, {}) && !inline_calls().contains(call)) absent.push_back(call);
        if (!absent.empty())
            report_.add(
                Severity::note, listed(absent),
                "its texts name these calls, and the libraries lack them; if it looks them up, it has to do without");
        report_.fine("what its texts name is there; what it makes of other texts cannot be seen");
        return true;
    }

    /// Calls that are in the header alone, and in no library (infiniband/verbs.h).
    static const std::set<std::string, std::less<>>& inline_calls() {
        static const std::set<std::string, std::less<>> calls{
            "ibv_poll_cq",         "ibv_post_send",    "ibv_post_recv",  "ibv_post_srq_recv", "ibv_req_notify_cq",
            "ibv_create_cq_ex",    "ibv_create_qp_ex", "ibv_alloc_mw",   "ibv_dealloc_mw",    "ibv_bind_mw",
            "ibv_query_device_ex", "ibv_open_xrcd",    "ibv_close_xrcd", "ibv_create_srq_ex", "ibv_alloc_dm",
            "ibv_free_dm",         "ibv_create_wq",    "ibv_destroy_wq", "ibv_create_flow",   "ibv_destroy_flow"};
        return calls;
    }

    template <class Wanted>
    static std::set<std::string> texts(const base::ElfImage& file, Wanted wanted) {
        constexpr std::size_t most = 512;
        std::set<std::string> found;
        for (const char* beginning : {"lib", "ibv_", "mlx5dv_"}) {
            const std::string_view octets = file.octets();
            for (std::size_t at = octets.find(beginning); at != std::string_view::npos && found.size() < most;
                 at = octets.find(beginning, at + 1)) {
                if (at == 0 || octets[at - 1] != '\0') continue;
                const std::string_view rest = octets.substr(at, 128);
                const std::string_view text = rest.substr(0, rest.find('\0'));
                if (text.size() < rest.size() && wanted(text)) found.emplace(text);
            }
        }
        return found;
    }

    void uses(bool dlopens) {
        report_.begin("binary.rdma");
        const bool needs = std::any_of(loaded_.objects().begin(), loaded_.objects().end(), [](const auto& object) {
            return is_rdma_library(object->name) ||
                   std::any_of(object->missing.begin(), object->missing.end(), is_rdma_library);
        });
        rdma_ = needs || dlopens;
        if (!rdma_)
            report_.add(
                Severity::note, out_.path,
                "neither it nor its libraries need libibverbs or librdmacm, and its texts name no library of RDMA; "
                "what plugins it may load cannot be seen");
        report_.fine("it does");
    }

    /// The checks of providers, for the libibverbs that this program gets.
    void providers() {
        const Loaded::Object* core = loaded_.find("libibverbs.so.1");
        if (core == nullptr) return;
        Inventory as_seen = machine_;
        for (Library& library : as_seen.libraries)
            if (library.part == Part::verbs) library.preferred = library.path == core->path;
        if (as_seen.library(core->path) == nullptr) {
            Library own = look_at_library(root_, core->path);
            own.preferred = true;
            as_seen.libraries.push_back(std::move(own));
        }
        as_seen.drivers = look_at_drivers(root_, path_, as_seen.libraries);
        const std::size_t broken_before = report_.count(Severity::broken);
        report_.begin("binary.provider");
        check_provider_abi(as_seen, report_);
        check_device_provider(as_seen, report_);
        check_provider_kernel_abi(as_seen, report_);
        broken_providers_ = report_.count(Severity::broken) - broken_before;
        if (const Library* usual = machine_.preferred(Part::verbs); usual != nullptr && usual->path != core->path)
            report_.add(Severity::warning, core->path,
                        fmt::format("this program gets it, other programs get {}", usual->path),
                        "one libibverbs on a machine", "readelf -d " + base::shell_word(out_.path) + " | grep PATH");
    }

    void conclude() {
        out_.starts = report_.count(Severity::broken) == broken_providers_;
        const Loaded::Object* core = loaded_.find("libibverbs.so.1");
        if (!out_.starts)
            out_.verdict = "it will not work with this machine's libraries";
        else if (broken_providers_ > 0)
            out_.verdict = "it will start, and RDMA will not work for all devices";
        else if (!rdma_)
            out_.verdict = "it will start; it does not use RDMA, as far as can be seen";
        else if (core == nullptr)
            out_.verdict = "it will start; without libibverbs.so.1 it will use no RDMA";
        else if (machine_.devices.empty())
            out_.verdict = fmt::format("it will start, with {}; the kernel has no RDMA device for it", core->path);
        else
            out_.verdict = fmt::format("it will start, with {}, and has {} device{} to use", core->path,
                                       machine_.devices.size(), machine_.devices.size() == 1 ? "" : "s");
    }

    const Root& root_;
    const Inventory& machine_;
    LoaderPath path_;
    Loaded loaded_;
    BinaryReport& out_;
    Report report_ = {};
    std::size_t broken_providers_ = 0;                 ///< findings: the program starts all the same
    std::set<std::string, std::less<>> refused_ = {};  ///< versions that a library lacks
    bool rdma_ = false;
};

}  // namespace

std::span<const Check> binary_checks() { return binary_checks_table; }

BinaryReport examine_binary(const Root& root, const Inventory& machine, const std::string& path) {
    BinaryReport report;
    report.path = path;
    Examination(root, machine, report).run();
    return report;
}

}  // namespace doctor::binary
