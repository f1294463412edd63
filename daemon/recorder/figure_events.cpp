#include "daemon/recorder/figure_events.h"

#include <array>
#include <cstddef>

namespace service::inline recorder {
namespace {

using metrics::EventKind;

/// A figure's path, or how the paths of a group begin, and what to show for it.
struct Row {
    template <class... Kinds>
    explicit constexpr Row(std::string_view begins, Kinds... those)
        : path(begins), kinds{those...}, count(sizeof...(those)) {}

    std::string_view path;
    std::array<EventKind, 3> kinds;
    std::size_t count;
};
constexpr std::array rows{
    Row("retransmitted_packets", EventKind::retransmission),
    Row("duplicate_packets", EventKind::duplicate),
    Row("reordered_packets", EventKind::reordered),
    Row("missing_packets", EventKind::gap),
    Row("unseen_acknowledged_packets", EventKind::ack_unseen),
    Row("timeouts", EventKind::timeout),
    Row("naks.", EventKind::nak),
    Row("rnr_naks", EventKind::rnr_nak),
    Row("rnr_timer_ns.", EventKind::rnr_nak),
    Row("credits.", EventKind::credit_exhausted),
    Row("ecn_ce_packets", EventKind::ce_mark),
    Row("cnp_packets", EventKind::cnp),
    Row("cnp_interval_ns.", EventKind::cnp),
    Row("rate_drop_after_cnp", EventKind::cnp),
    Row("icrc_bad", EventKind::icrc_bad),
    Row("crc_bad", EventKind::crc_bad),
    Row("terminates", EventKind::terminate),
    Row("recovery.nak_", EventKind::nak, EventKind::retransmission),
    Row("recovery.", EventKind::retransmission, EventKind::timeout),
    Row("state_ns.transmit_again", EventKind::retransmission),
    Row("state_ns.rnr_wait", EventKind::rnr_nak),
    Row("state_ns.recover_nak", EventKind::nak, EventKind::retransmission),
    Row("state_ns.recover_timeout", EventKind::timeout),
    Row("state_ns.credit", EventKind::credit_exhausted, EventKind::zero_window),
    Row("state_ns.congestion_paced", EventKind::cnp, EventKind::ce_mark),
    Row("state_ns.", EventKind::long_gap),
    Row("tcp.retransmitted_", EventKind::retransmission),
    Row("tcp.out_of_order_segments", EventKind::gap, EventKind::reordered),
    Row("tcp.zero_windows", EventKind::zero_window),
    Row("tcp.window_limited_ns", EventKind::zero_window),
    Row("connection.end", EventKind::disconnected, EventKind::reset, EventKind::rejected),
    Row("finished", EventKind::disconnected, EventKind::reset, EventKind::rejected),
    Row("connection.", EventKind::connect_request, EventKind::connect_reply, EventKind::established),
};

}  // namespace

std::vector<EventKind> find_event_kinds(std::string_view path) {
    constexpr std::string_view prefix = "exhibits.";
    if (path.starts_with(prefix)) {
        const std::string_view event = path.substr(prefix.size(), path.find('.', prefix.size()) - prefix.size());
        for (std::size_t i = 0; i < metrics::event_kind_count; ++i)
            if (metrics::name_of(static_cast<EventKind>(i)) == event) return {static_cast<EventKind>(i)};
    }
    for (const Row& row : rows)
        if (row.path == path || (path.starts_with(row.path) && (row.path.ends_with('.') || row.path.ends_with('_'))))
            return {row.kinds.begin(), row.kinds.begin() + row.count};
    return {};
}

}  // namespace service::recorder
