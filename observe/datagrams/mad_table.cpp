#include "observe/datagrams/mad_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantities.h"
#include "wire/mad.h"

namespace observe::datagrams {

namespace {

constexpr std::size_t most_lines = 64;  ///< of one table
constexpr std::size_t most_named_peers = 3;
constexpr std::uint16_t permissive_lid = 0xffff;

using Row = std::array<std::string, 9>;

constexpr std::string_view heading_of(Role role) {
    switch (role) {
        case Role::asks: return "asked";
        case Role::answers: return "answered";
        case Role::sends: return "sent";
        case Role::receives: return "received";
    }
    return {};
}

/// "SubnAdmGet(PathRecord)", as `dump` names it.
std::string name_of(const MadKind& kind) {
    const std::string_view prefix = wire::mad_method_prefix(kind.management_class);
    const std::string_view method = wire::name_of(wire::mad_method_names, kind.method);
    const std::string_view attribute = wire::mad_attribute_name(kind.management_class, kind.attribute);
    std::string out = prefix.empty() ? fmt::format("class {:#04x} ", kind.management_class) : std::string(prefix);
    if (kind.management_class == wire::communication_management) out = "CM ";
    if (method.empty())
        out += fmt::format("method {:#04x}", kind.method);
    else
        out += method.substr(0, method.find('('));
    return out + (attribute.empty() ? fmt::format("({:#06x})", kind.attribute) : fmt::format("({})", attribute));
}

std::string peers_of(const MadFigures& figures) {
    std::vector<std::pair<std::uint16_t, std::uint64_t>> peers(figures.peers.begin(), figures.peers.end());
    std::ranges::stable_sort(peers, std::ranges::greater{}, &std::pair<std::uint16_t, std::uint64_t>::second);
    std::string out;
    for (std::size_t i = 0; i < std::min(peers.size(), most_named_peers); ++i) {
        const auto [lid, count] = peers[i];
        out += out.empty() ? "" : ", ";
        out += lid == permissive_lid ? "directed routes" : fmt::format("lid {}", lid);
        if (peers.size() > 1) out += fmt::format(" ({})", base::group_digits(count));
    }
    if (peers.size() > most_named_peers) out += fmt::format(", {} more", peers.size() - most_named_peers);
    if (figures.other_peers > 0) out += fmt::format(", other LIDs ({})", base::group_digits(figures.other_peers));
    return out;
}

std::string latency(const MadFigures& figures, double share) {
    const std::optional<std::uint64_t> value = figures.latency_ns.quantile(share);
    return value ? base::format_duration(static_cast<double>(*value)) : "-";
}

Row row_of(const MadKind& kind, const MadFigures& figures) {
    const auto number = [](std::uint64_t count) { return base::group_digits(count); };
    return {name_of(kind),           number(figures.count),
            number(figures.repeats), number(figures.timed_out + figures.failed),
            number(figures.open),    number(figures.errors),
            latency(figures, 0.5),   latency(figures, 0.99),
            peers_of(figures)};
}

bool has_answers(Role role) { return role == Role::asks || role == Role::answers; }

Row heading(Role role) {
    const std::string peer = role == Role::asks || role == Role::sends ? "to" : "from";
    return {std::string(heading_of(role)), "count", "repeats", "given up", "open", "errors", "median", "p99", peer};
}

/// Columns that belong to answers are left out of tables without answers.
bool is_shown(std::size_t column, Role role) {
    return has_answers(role) || column < 2 || column == std::tuple_size_v<Row> - 1;
}

void append(std::string& out, const std::vector<Row>& rows, Role role) {
    std::array<std::size_t, std::tuple_size_v<Row>> widths{};
    // "µ" is one column of two bytes.
    const auto columns = [](const std::string& text) {
        return static_cast<std::size_t>(std::ranges::count_if(
            text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xc0) != 0x80; }));
    };
    for (const Row& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
    for (const Row& row : rows) {
        out += "  ";
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            if (!is_shown(i, role)) continue;
            const std::string blanks(widths[i] - columns(row[i]), ' ');
            out += (i == 0 ? row[i] + blanks : blanks + row[i]) + "  ";
        }
        out += row.back() + '\n';
    }
}

using Kinds = std::vector<std::pair<const MadKind*, const MadFigures*>>;

void append_role(std::string& out, Kinds kinds, Role role) {
    std::ranges::stable_sort(kinds, std::ranges::greater{}, [](const auto& one) { return one.second->count; });
    std::vector<Row> rows{heading(role)};
    for (std::size_t i = 0; i < std::min(kinds.size(), most_lines); ++i)
        rows.push_back(row_of(*kinds[i].first, *kinds[i].second));
    append(out, rows, role);
    if (kinds.size() > most_lines) out += fmt::format("  and {} more kinds\n", kinds.size() - most_lines);
}

}  // namespace

std::string mad_tables(const MadTransactions& transactions, const std::map<std::uint32_t, trace::Process>& processes) {
    std::map<std::pair<std::uint32_t, Role>, Kinds> tables;
    for (const auto& [kind, figures] : transactions.kinds())
        tables[{kind.process, kind.role}].emplace_back(&kind, &figures);
    std::string out;
    std::optional<std::uint32_t> last;
    for (const auto& [of, kinds] : tables) {
        const auto process = processes.find(of.first);
        if (last != of.first) {
            out += fmt::format("management datagrams of process {}", of.first);
            if (process != processes.end()) out += ": " + process->second.command;
            out += '\n';
        }
        last = of.first;
        append_role(out, kinds, of.second);
    }
    if (transactions.uncounted() > 0)
        out += fmt::format("not in these tables: {}\n", base::format_counted(transactions.uncounted(), "datagram"));
    return out;
}

}  // namespace observe::datagrams
