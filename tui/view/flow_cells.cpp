#include "tui/view/flow_cells.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <numeric>

#include "exporters/text_table.h"
#include "metrics/answers/thresholds.h"
#include "metrics/figures/latencies.h"
#include "tui/view/figures.h"
#include "tui/view/state_bar.h"

namespace tui::inline view {

namespace {

using exporters::FlowRow;
using metrics::FlowSnapshot;

/// How many times its median a 99th percentile may be before it is worth a look.
constexpr double long_tail = 10;

std::uint64_t count_naks(const FlowSnapshot& flow) {
    return std::accumulate(flow.naks.begin(), flow.naks.end(), std::uint64_t{0});
}

double resent_share(const FlowSnapshot& flow) {
    if (flow.packets == 0) return 0;
    return static_cast<double>(flow.retransmitted_packets.value_or(0)) / static_cast<double>(flow.packets);
}

Role resent_role(const FlowSnapshot& flow) {
    if (flow.retransmitted_packets.value_or(0) == 0) return Role::dim;
    return resent_share(flow) >= metrics::answers::alarming_loss_share ? Role::bad : Role::warning;
}

Role tail_role(const FlowSnapshot& flow) {
    const auto operation = metrics::main_operation(flow);
    if (!operation) return Role::dim;
    const metrics::Histogram& latency = flow.operations[metrics::index_of(*operation)].latency_ns;
    const auto median = latency.quantile(0.5);
    const auto tail = latency.quantile(0.99);
    if (!median || !tail) return Role::dim;
    return static_cast<double>(*tail) > long_tail * static_cast<double>(std::max<std::uint64_t>(*median, 1))
               ? Role::warning
               : Role::normal;
}

/// READs and atomics that may be outstanding: what the initiator asks for and the responder grants.
std::optional<std::uint32_t> response_limit(const FlowSnapshot& flow) {
    const metrics::ConnectionFigures& connection = flow.connection;
    if (connection.initiator_depth && connection.responder_resources)
        return std::min(*connection.initiator_depth, *connection.responder_resources);
    return connection.initiator_depth ? connection.initiator_depth : connection.responder_resources;
}

/// READs and atomics alone: then the depth of messages is that of responses.
bool only_responses(const FlowSnapshot& flow) {
    for (std::size_t i = 0; i < metrics::operation_count; ++i)
        if (flow.operations[i].count > 0 && !metrics::wants_response(static_cast<metrics::Operation>(i))) return false;
    return flow.responses_max > 0;
}

bool at_response_limit(const FlowSnapshot& flow) {
    const auto limit = response_limit(flow);
    return limit && *limit > 0 && flow.responses_max >= *limit;
}

bool is_nothing(std::string_view text) { return text.find_first_not_of("-0/.B") == std::string_view::npos; }

Role nak_rnr_role(const FlowSnapshot& flow) {
    if (count_naks(flow) > 0) return Role::bad;
    return flow.rnr_naks > 0 ? Role::warning : Role::dim;
}

Role role_of_field(Emphasis emphasis, const std::string& text, const FlowSnapshot& flow) {
    const bool nothing = is_nothing(text);
    switch (emphasis) {
        case Emphasis::resent: return resent_role(flow);
        case Emphasis::latency_tail: return nothing ? Role::dim : tail_role(flow);
        case Emphasis::nak_rnr: return nak_rnr_role(flow);
        case Emphasis::depth: return nothing ? Role::dim : at_response_limit(flow) ? Role::warning : Role::normal;
        case Emphasis::warning: return nothing ? Role::dim : Role::warning;
        case Emphasis::bad: return nothing ? Role::dim : Role::bad;
        case Emphasis::none: break;
    }
    return nothing ? Role::dim : Role::normal;
}

std::string field_text(const Column& column, const FlowRow& row, const Letters& letters) {
    const std::string text = exporters::cell(*column.field, row, in_column(letters).charset);
    if (column.emphasis != Emphasis::depth || !only_responses(row.flow)) return text;
    const auto limit = response_limit(row.flow);
    return limit && *limit > 0 ? fmt::format("{} of {}", text, *limit) : text;
}

struct End {
    std::string host;
    std::string number;  ///< "/0x14", ".18515"
    int width() const { return width_of(host) + width_of(number); }
};

End end_of(const metrics::Endpoint& endpoint, const metrics::HostNames* names) {
    End end{host_text(endpoint.address, names), {}};
    if (endpoint.qpn) end.number = fmt::format("/{:#x}", *endpoint.qpn);
    if (endpoint.port) end.number += fmt::format(".{}", *endpoint.port);
    return end;
}

/// Columns of a shortened host that its beginning has: all of a name, whose beginnings differ; none of an IPv4 address,
/// whose ends do; of others half.
int front_of(const std::string& host, int kept) {
    if (host.find_first_not_of("0123456789.") == std::string::npos) return 0;
    return host.find(':') != std::string::npos ? (kept + 1) / 2 : kept;
}

/// The host shortened so that both fit, its number never.
std::string shortened(const End& end, int room, const Letters& letters) {
    if (end.width() <= room) return end.host + end.number;
    const int kept = room - width_of(end.number) - 1;
    if (kept < 1) return end.host + end.number;
    std::string_view rest = end.host;
    const int front = front_of(end.host, kept);
    std::string out;
    int taken = 0;
    while (!rest.empty()) {
        const std::string_view before = rest;
        const int columns = width_of(take_character(rest));
        if (taken + columns > front) {
            rest = before;
            break;
        }
        out.append(before.substr(0, before.size() - rest.size()));
        taken += columns;
    }
    append_utf8(out, letters.ellipsis);
    if (front < kept) {
        // Bytes of an address are its columns. A cut number would be another number.
        std::string_view behind =
            std::string_view(end.host).substr(end.host.size() - static_cast<std::size_t>(kept - taken));
        const std::size_t whole = behind.find_first_of(".:");
        if (whole != std::string_view::npos) behind.remove_prefix(whole);
        out.append(behind);
    }
    return out + end.number;
}

}  // namespace

Role role_of(const metrics::FlowProblem* problem) {
    if (problem == nullptr) return Role::normal;
    return problem->grade == metrics::Grade::wrong ? Role::bad : Role::warning;
}

TableCell cause_cell(const metrics::FlowProblem* problem) {
    if (problem == nullptr) return {"-", {Role::dim}};
    const bool suspected = problem->grade == metrics::Grade::suspected;
    return {problem->cause + (suspected ? "?" : ""), {role_of(problem)}};
}

std::string mix_text(const FlowSnapshot& flow) {
    using metrics::Operation;
    struct Kind {
        std::string_view word;
        std::uint64_t count;
    };
    const auto count = [&flow](Operation operation) { return flow.operations[metrics::index_of(operation)].count; };
    std::array<Kind, 4> kinds{
        Kind{"SEND", count(Operation::send) + count(Operation::send_immediate) + count(Operation::send_invalidate)},
        Kind{"WRITE", count(Operation::write) + count(Operation::write_immediate)},
        Kind{"READ", count(Operation::read)},
        Kind{"ATOMIC", count(Operation::fetch_add) + count(Operation::compare_swap)},
    };
    std::stable_sort(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return a.count > b.count; });
    const std::uint64_t total = flow.messages_total();
    if (total == 0) return std::string(exporters::messageless_text(flow));
    if (kinds[1].count == 0) return std::string(kinds[0].word);
    std::string text;
    for (const Kind& kind : kinds) {
        if (kind.count == 0) break;
        const double hundredths = 100 * static_cast<double>(kind.count) / static_cast<double>(total);
        const std::string share = hundredths < 0.5     ? "<1"
                                  : hundredths >= 99.5 ? ">99"
                                                       : fmt::format("{:.0f}", hundredths);
        text += fmt::format("{}{} {}", text.empty() ? "" : " ", kind.word[0], share);
    }
    return text;
}

std::string flow_text(const FlowRow& row, const Letters& letters, int room) {
    const End source = end_of(row.flow.source, row.context.names);
    const End destination = end_of(row.flow.destination, row.context.names);
    const bool against = metrics::main_operation(row.flow) == metrics::Operation::read;
    const std::string arrow = fmt::format(" {} ", against ? letters.arrow_back : letters.arrow);
    const int both = room - width_of(arrow);
    const int half = both / 2;
    int left = std::min(source.width(), half);
    const int right = std::min(destination.width(), both - left);
    left = std::min(source.width(), both - right);
    return shortened(source, left, letters) + arrow + shortened(destination, right, letters);
}

TableCell flow_cell(const Column& column, const FlowRow& row, const Letters& letters, bool idle) {
    const FlowSnapshot& flow = row.flow;
    // The past problems of an idle flow are dim; the cause that made the flow stop is not.
    const auto style = [idle](Role role) { return Style{idle && role != Role::bad ? Role::dim : role}; };
    if (column.form == CellForm::states) {
        TableCell cell;
        cell.keeps_style = true;
        cell.paint = [&flow, idle](Pane& pane, int x, int y, int width) {
            draw_state_bar(pane, x, y, width, flow.state_ns, idle);
        };
        return cell;
    }
    if (column.form == CellForm::mix) {
        TableCell cell{mix_text(flow)};
        const bool silent = flow.messages_total() == 0;
        cell.style = style(silent ? Role::dim : Role::normal);
        return cell;
    }
    if (column.form == CellForm::cause) return cause_cell(exporters::problem_of(row));
    if (column.form == CellForm::ends) {
        TableCell cell{flow_text(row, letters, 1 << 16)};
        const Style drawn = style(role_of(exporters::problem_of(row)));
        cell.paint = [row, &letters, drawn](Pane& pane, int x, int y, int width) {
            pane.text(x, y, flow_text(row, letters, width), drawn, width);
        };
        return cell;
    }
    // Nothing passed: there was no rate, and nothing took time.
    if (idle && is_pace(*column.field)) return {"-", {Role::dim}};
    TableCell cell{field_text(column, row, letters)};
    cell.style = style(role_of_field(column.emphasis, cell.text, flow));
    return cell;
}

}  // namespace tui::view
