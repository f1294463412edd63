#include "trace/uprobe/attach.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "base/file.h"
#include "trace/uprobe/stack_probes.h"

#ifdef RDMASCOPE_HAVE_VERBS
#include <cstddef>
#include <infiniband/verbs.h>
#endif

namespace trace::inline uprobe {

using base::Failure;

namespace {

/// A provider's functions, by the stem of its file's name: lib<stem>.so.1 or lib<stem>-rdmav34.so. Names as in
/// providers/*/ of rdma-core; newer adapters of a family may use further ones.
struct Provider {
    std::string_view stem;
    std::array<std::string_view, 2> post_send;
    std::array<std::string_view, 2> post_receive;
};
constexpr Provider providers[] = {
    {"mlx5", {"mlx5_post_send"}, {"mlx5_post_recv"}},
    {"mlx4", {"mlx4_post_send"}, {"mlx4_post_recv"}},
    {"rxe", {"rxe_post_send"}, {"rxe_post_recv"}},
    {"siw", {"siw_post_send"}, {"siw_post_recv"}},
    {"bnxt_re", {"bnxt_re_post_send"}, {"bnxt_re_post_recv"}},
    {"irdma", {"irdma_upost_send"}, {"irdma_upost_recv"}},
    {"cxgb4", {"c4iw_post_send"}, {"c4iw_post_receive"}},
    {"efa", {"efa_post_send"}, {"efa_post_recv"}},
    {"erdma", {"erdma_post_send"}, {"erdma_post_recv"}},
    {"hns",
     {"hns_roce_u_v2_post_send", "hns_roce_u_v1_post_send"},
     {"hns_roce_u_v2_post_recv", "hns_roce_u_v1_post_recv"}},
    {"mana", {"mana_post_send"}, {"mana_post_recv"}},
    {"qedr", {"qelr_post_send"}, {"qelr_post_recv"}},
    {"ocrdma", {"ocrdma_post_send"}, {"ocrdma_post_recv"}},
    {"vmw_pvrdma", {"pvrdma_post_send"}, {"pvrdma_post_recv"}},
    {"hfi1verbs", {"ipath_post_send"}, {"ipath_post_recv"}},
};

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// "librxe-rdmav34.so" -> "rxe", "libmlx5.so.1.24.44.0" -> "mlx5"; empty of other files.
std::string_view stem_of(std::string_view path) {
    std::string_view name = base_name(path);
    if (!name.starts_with("lib")) return {};
    name.remove_prefix(3);
    return name.substr(0, std::min(name.find("-rdmav"), name.find(".so")));
}

const Provider* provider_of(std::string_view path) {
    const std::string_view stem = stem_of(path);
    for (const Provider& provider : providers)
        if (provider.stem == stem) return &provider;
    return nullptr;
}

#ifdef RDMASCOPE_HAVE_VERBS

/// Fetches of int post(struct ibv_qp*, struct ibv_send_wr* or ibv_recv_wr*, ...), which libibverbs' ABI lays out.
std::vector<std::pair<std::string, std::string>> post_fetches(bool send, base::ElfFile::Machine machine) {
    const bool x86 = machine == base::ElfFile::Machine::x86_64;
    const std::string pair = x86 ? "%di" : "%x0";
    const std::string request = x86 ? "%si" : "%x1";
    const auto at = [](std::size_t offset, const std::string& base, const char* type) {
        return fmt::format("+{}({}){}", offset, base, type);
    };
    using Send = ibv_send_wr;
    using Receive = ibv_recv_wr;
    const std::string list = at(send ? offsetof(Send, sg_list) : offsetof(Receive, sg_list), request, "");
    std::vector<std::pair<std::string, std::string>> fetch{
        {"qp", at(offsetof(ibv_qp, qp_num), pair, ":u32")},
        {"id", at(send ? offsetof(Send, wr_id) : offsetof(Receive, wr_id), request, ":u64")},
        {"next", at(send ? offsetof(Send, next) : offsetof(Receive, next), request, ":u64")},
        {"pieces", at(send ? offsetof(Send, num_sge) : offsetof(Receive, num_sge), request, ":u32")},
        {"length", at(offsetof(ibv_sge, length), list, ":u32")},
    };
    if (send) {
        fetch.emplace_back("opcode", at(offsetof(Send, opcode), request, ":u32"));
        fetch.emplace_back("flags", at(offsetof(Send, send_flags), request, ":u32"));
    }
    return fetch;
}

std::uint8_t flags_of(std::uint64_t send_flags) {
    std::uint8_t flags = 0;
    if ((send_flags & IBV_SEND_SIGNALED) != 0) flags |= Flag::signalled;
    if ((send_flags & IBV_SEND_SOLICITED) != 0) flags |= Flag::solicited;
    if ((send_flags & IBV_SEND_FENCE) != 0) flags |= Flag::fence;
    if ((send_flags & IBV_SEND_INLINE) != 0) flags |= Flag::inline_data;
    return flags;
}

Converter post_converter(bool send, const Format& format) {
    std::vector<Field> fields;
    for (const char* name : {"qp", "id", "pieces", "length", "opcode", "flags"}) {
        const Field* const field = format.find(name);
        fields.push_back(field != nullptr ? *field : Field());
    }
    return [send, fields](const EventSample& sample, Record& into) {
        const auto value = [&](std::size_t index) { return Format::number(fields[index], sample.record).value_or(0); };
        into.kind = send ? RecordKind::post_send : RecordKind::post_receive;
        into.number = static_cast<std::uint32_t>(value(0)) & 0xffffff;
        into.work = {};
        into.work.id = value(1);
        into.work.pieces = static_cast<std::uint16_t>(std::min<std::uint64_t>(value(2), 65535));
        if (into.work.pieces > 0) into.work.bytes = value(3);
        if (send) {
            into.work.opcode = static_cast<std::uint8_t>(value(4));
            into.work.flags = flags_of(value(5));
        }
        return true;
    };
}

#endif

/// The function in the file's own symbols or in its debug symbols.
std::optional<std::uint64_t> find_function(const base::ElfFile& file, std::string_view name,
                                           const std::string& debug_root) {
    const auto in = [name](const base::ElfFile& searched) -> std::optional<std::uint64_t> {
        for (const base::ElfSymbol& symbol : searched.symbols())
            if (symbol.function && symbol.name == name) return symbol.address;
        return std::nullopt;
    };
    if (const auto address = in(file)) return address;
    const std::string id = file.build_id();
    if (id.size() < 4) return std::nullopt;
    const auto debug =
        base::ElfFile::open(fmt::format("{}/.build-id/{}/{}.debug", debug_root, id.substr(0, 2), id.substr(2)));
    return debug ? in(debug.value()) : std::nullopt;
}

void plan_function(const base::ElfFile& file, const std::string& path, const std::array<std::string_view, 2>& names,
                   bool send, AttachPlan& into, const std::string& debug_root) {
    bool found = false;
    for (const std::string_view name : names) {
        const auto address = name.empty() ? std::nullopt : find_function(file, name, debug_root);
        const auto offset = address ? file.file_offset(*address) : std::nullopt;
        if (!offset) continue;
        found = true;
#ifdef RDMASCOPE_HAVE_VERBS
        ProbePoint point;
        point.name = fmt::format("{}:{}", stem_of(path), name);
        point.path = file.path();
        point.offset = *offset;
        point.fetch = post_fetches(send, file.machine());
        point.convert = [send](const Format& format) { return post_converter(send, format); };
        into.points.push_back(std::move(point));
#else
        static_cast<void>(send);
        into.not_traced.push_back({path, std::string(name), "this rdmascope was built without libibverbs' headers"});
#endif
    }
    if (!found)
        into.not_traced.push_back(
            {path, std::string(names[0]),
             "is not in its symbol table, as it is a static function of a stripped file: install the "
             "debug symbols (Debian: ibverbs-providers-dbgsym), or start the program by "
             "`rdmascope run -- CMD`"});
}

bool is_verbs_library(std::string_view path) {
    const std::string_view name = base_name(path);
    return name.starts_with("libibverbs.so") || name.starts_with("librdmacm.so") ||
           name.find("-rdmav") != std::string_view::npos || provider_of(path) != nullptr;
}

}  // namespace

std::vector<MappedFile> mapped_code(const std::string& maps, const std::string& process_folder) {
    std::vector<MappedFile> files;
    std::set<std::string> seen;  // device and inode
    std::istringstream lines(maps);
    for (std::string line; std::getline(lines, line);) {  // 7f00-7f10 r-xp 00001000 08:01 131 /usr/lib/...
        std::istringstream words(line);
        std::string range, rights, offset, device, inode, path;
        words >> range >> rights >> offset >> device >> inode >> std::ws;
        std::getline(words, path);
        if (rights.size() < 3 || rights[2] != 'x' || !path.starts_with('/') ||
            !seen.insert(device + " " + inode).second)
            continue;
        constexpr std::string_view deleted = " (deleted)";
        if (path.ends_with(deleted)) path.resize(path.size() - deleted.size());
        files.push_back({path, process_folder + "/map_files/" + range});
    }
    return files;
}

void plan_file(const base::ElfFile& file, const std::string& path, AttachPlan& into, const std::string& debug_root) {
    if (is_verbs_library(path)) into.libraries.push_back(path);
    const auto probes = read_usdt_probes(file);
    if (!probes) {
        into.not_traced.push_back({path, "its static trace points", probes.error().message});
    } else {
        std::vector<std::string> warnings;
        for (const UsdtProbe& probe : probes.value())
            if (is_stack_probe(probe.provider + ":" + probe.name))
                into.points.push_back(point_of(probe, file, warnings));
        for (const std::string& warning : warnings) into.not_traced.push_back({path, "an argument", warning});
    }
    if (const Provider* const provider = provider_of(path)) {
        plan_function(file, path, provider->post_send, true, into, debug_root);
        plan_function(file, path, provider->post_receive, false, into, debug_root);
    }
}

base::Result<AttachPlan> plan_attach(int process, const std::string& debug_root) {
    const std::string folder = fmt::format("/proc/{}", process);
    const std::string maps = base::read_file(folder + "/maps").value_or(std::string());
    if (maps.empty()) {
        const bool there = base::read_file(folder + "/stat").has_value();
        return Failure{base::Error{
            there ? "may not be looked at, or has no memory of its own: attaching needs root" : "no such process",
            fmt::format("process {}", process)}};
    }
    AttachPlan plan;
    for (const MappedFile& mapped : mapped_code(maps, folder)) {
        auto opened = base::ElfFile::open(mapped.open_path);
        if (!opened && is_verbs_library(mapped.path))
            plan.not_traced.push_back({mapped.path, "its functions", opened.error().message});
        if (opened) plan_file(*opened, mapped.path, plan, debug_root);
    }
    return plan;
}

std::vector<std::string> sentences_of(const std::vector<NotTraced>& all) {
    std::vector<std::string> sentences;
    std::set<std::string> reported;
    for (const NotTraced& first : all) {
        if (!reported.insert(first.why).second) continue;
        std::vector<std::string> files;
        std::size_t count = 0;
        for (const NotTraced& each : all) {
            if (each.why != first.why) continue;
            ++count;
            std::string name(base_name(each.path));
            if (std::find(files.begin(), files.end(), name) == files.end()) files.push_back(std::move(name));
        }
        sentences.push_back(count == 1 ? fmt::format("{}: {} {}", first.path, first.what, first.why)
                                       : fmt::format("{}: {} and {} more like it; each {}", fmt::join(files, ", "),
                                                     first.what, count - 1, first.why));
    }
    return sentences;
}

base::Result<std::unique_ptr<TraceSource>> attach(int process, ProbeOptions options) {
    const auto plan = plan_attach(process);
    if (!plan) return Failure{plan.error()};
    const std::vector<std::string> warnings = sentences_of(plan.value().not_traced);
    if (plan.value().points.empty()) {
        std::string why = plan.value().libraries.empty()
                              ? "it has no library of verbs, and no static trace points of rdmascope's stack"
                              : "nothing of it can be traced";
        for (const std::string& warning : warnings) why += "\n  " + warning;
        return Failure{base::Error{why, fmt::format("process {}", process)}};
    }
    options.perf.process = process;
    auto source = ProbeSource::open(plan.value().points, options);
    if (!source) return Failure{source.error()};
    for (const std::string& warning : warnings) (*source)->warn(warning);
    return std::unique_ptr<TraceSource>(std::move(*source));
}

}  // namespace trace::uprobe
