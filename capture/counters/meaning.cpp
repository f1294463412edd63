#include "capture/counters/meaning.h"

#include <algorithm>

namespace capture::counters {
namespace {

struct MeaningRow {
    std::string_view name;
    Fact fact;
    Unit unit = Unit::times;
    Width width = Width::wraps_64;
};

constexpr Unit times = Unit::times;
constexpr Width wraps_32 = Width::wraps_32;
constexpr Width saturates = Width::saturates;

constexpr MeaningRow device_rows[] = {
    // IBTA's PortCounters and PortCountersExtended (volume 1, section 16.1.3.5): `counters` of any driver.
    {"port_xmit_data", Fact::octets_sent, Unit::words},
    {"port_rcv_data", Fact::octets_received, Unit::words},
    {"port_xmit_packets", Fact::packets_sent},
    {"port_rcv_packets", Fact::packets_received},
    {"port_xmit_wait", Fact::wait, Unit::ticks},
    {"port_xmit_discards", Fact::discards_sent, times, saturates},
    {"port_rcv_errors", Fact::receive_errors, times, saturates},
    {"link_downed", Fact::link_downed, times, saturates},
    {"symbol_error", Fact::other, times, saturates},
    {"link_error_recovery", Fact::other, times, saturates},
    {"port_rcv_remote_physical_errors", Fact::other, times, saturates},
    {"port_rcv_switch_relay_errors", Fact::other, times, saturates},
    {"port_xmit_constraint_errors", Fact::other, times, saturates},
    {"port_rcv_constraint_errors", Fact::other, times, saturates},
    {"local_link_integrity_errors", Fact::other, times, saturates},
    {"excessive_buffer_overrun_errors", Fact::other, times, saturates},
    {"VL15_dropped", Fact::other, times, saturates},
    // mlx5, mlx4: Q counters have 32 bits, those of congestion 64.
    {"out_of_buffer", Fact::out_of_buffer, times, wraps_32},
    {"out_of_sequence", Fact::out_of_sequence, times, wraps_32},
    {"duplicate_request", Fact::duplicates, times, wraps_32},
    {"rnr_nak_retry_err", Fact::rnr_received, times, wraps_32},
    {"packet_seq_err", Fact::sequence_naks, times, wraps_32},
    {"implied_nak_seq_err", Fact::implied_naks, times, wraps_32},
    {"local_ack_timeout_err", Fact::ack_timeouts, times, wraps_32},
    {"roce_adp_retrans", Fact::adaptive_retransmissions, times, wraps_32},
    {"roce_adp_retrans_to", Fact::other, times, wraps_32},
    {"roce_slow_restart", Fact::slow_restarts, times, wraps_32},
    {"roce_slow_restart_cnps", Fact::other, times, wraps_32},
    {"roce_slow_restart_trans", Fact::other, times, wraps_32},
    {"rx_write_requests", Fact::other, times, wraps_32},
    {"rx_read_requests", Fact::other, times, wraps_32},
    {"rx_atomic_requests", Fact::other, times, wraps_32},
    {"rx_dct_connect", Fact::other, times, wraps_32},
    {"resp_local_length_error", Fact::other, times, wraps_32},
    {"resp_cqe_error", Fact::other, times, wraps_32},
    {"req_cqe_error", Fact::other, times, wraps_32},
    {"req_remote_invalid_request", Fact::other, times, wraps_32},
    {"req_remote_access_errors", Fact::other, times, wraps_32},
    {"resp_remote_access_errors", Fact::other, times, wraps_32},
    {"resp_cqe_flush_error", Fact::other, times, wraps_32},
    {"req_cqe_flush_error", Fact::other, times, wraps_32},
    {"np_ecn_marked_roce_packets", Fact::ecn_marked},
    {"np_cnp_sent", Fact::cnp_sent},
    {"rp_cnp_handled", Fact::cnp_received},
    {"rx_icrc_encapsulated", Fact::icrc_errors},
    // bnxt_re.
    {"tx_bytes", Fact::octets_sent, Unit::octets},
    {"rx_bytes", Fact::octets_received, Unit::octets},
    {"tx_pkts", Fact::packets_sent},
    {"rx_pkts", Fact::packets_received},
    {"rnr_naks_rcvd", Fact::rnr_received},
    {"seq_err_naks_rcvd", Fact::sequence_naks},
    {"missing_resp", Fact::implied_naks},
    {"to_retransmits", Fact::ack_timeouts},
    {"max_retry_exceeded", Fact::retries_exceeded},
    {"dup_req", Fact::duplicates},
    {"res_oos_drop_count", Fact::out_of_sequence},
    {"oos_drop_count", Fact::out_of_sequence},
    {"rx_ecn_marked_pkts", Fact::ecn_marked},
    {"tx_cnp_pkts", Fact::cnp_sent},
    {"rx_cnp_pkts", Fact::cnp_received},
    {"rx_roce_discards", Fact::discards_received},
    {"tx_roce_discards", Fact::discards_sent},
    {"rx_roce_errors", Fact::receive_errors},
    // irdma: kept by the driver in 64 bits, whatever the adapter has.
    {"RxECNMrkd", Fact::ecn_marked},
    {"cnpSent", Fact::cnp_sent},
    {"cnpHandled", Fact::cnp_received},
    {"RetransSegs", Fact::retransmissions},
    {"tcpRetransSegs", Fact::retransmissions},
    {"RNR received", Fact::rnr_received},
    {"Nak Sequence Error", Fact::sequence_naks},
    // efa.
    {"retrans_pkts", Fact::retransmissions},
    {"retrans_timeout_events", Fact::ack_timeouts},
    {"rx_drops", Fact::discards_received},
    // rxe.
    {"sent_pkts", Fact::packets_sent},
    {"rcvd_pkts", Fact::packets_received},
    {"out_of_seq_request", Fact::out_of_sequence},
    {"rcvd_rnr_err", Fact::rnr_received},
    {"send_rnr_err", Fact::out_of_buffer},
    {"rcvd_seq_err", Fact::sequence_naks},
    {"completer_retry_err", Fact::retransmissions},
    {"retry_exceeded_err", Fact::retries_exceeded},
    {"retry_rnr_exceeded_err", Fact::rnr_retries_exceeded},
};

/// A pattern has at most one `#`, which stands for a PFC priority.
constexpr MeaningRow ethernet_rows[] = {
    // mlx5.
    {"rx_pause_ctrl_phy", Fact::pause_received},
    {"tx_pause_ctrl_phy", Fact::pause_sent},
    {"rx_prio#_pause", Fact::pause_received},
    {"tx_prio#_pause", Fact::pause_sent},
    {"rx_prio#_pause_duration", Fact::pause_received_time, Unit::microseconds},
    {"tx_prio#_pause_duration", Fact::pause_sent_time, Unit::microseconds},
    {"rx_global_pause", Fact::pause_received},
    {"tx_global_pause", Fact::pause_sent},
    {"rx_global_pause_duration", Fact::pause_received_time, Unit::microseconds},
    {"tx_global_pause_duration", Fact::pause_sent_time, Unit::microseconds},
    {"rx_discards_phy", Fact::discards_received},
    {"tx_discards_phy", Fact::discards_sent},
    {"rx_out_of_buffer", Fact::out_of_buffer},
    {"rx_icrc_encapsulated_phy", Fact::icrc_errors},
    // ice, i40e.
    {"rx_priority_#_xoff.nic", Fact::pause_received},
    {"tx_priority_#_xoff.nic", Fact::pause_sent},
    {"link_xoff_rx.nic", Fact::pause_received},
    {"link_xoff_tx.nic", Fact::pause_sent},
    {"port.rx_priority_#_xoff", Fact::pause_received},
    {"port.tx_priority_#_xoff", Fact::pause_sent},
    {"port.link_xoff_rx", Fact::pause_received},
    {"port.link_xoff_tx", Fact::pause_sent},
    // bnxt_en.
    {"rx_pause_frames", Fact::pause_received},
    {"tx_pause_frames", Fact::pause_sent},
    {"rx_pfc_ena_frames_pri#", Fact::pause_received},
    {"tx_pfc_ena_frames_pri#", Fact::pause_sent},
    {"pfc_pri#_rx_duration_us", Fact::pause_received_time, Unit::microseconds},
    {"pfc_pri#_tx_duration_us", Fact::pause_sent_time, Unit::microseconds},
    // Others.
    {"rx_pause", Fact::pause_received},
    {"tx_pause", Fact::pause_sent},
};

/// The priority that stands at the pattern's `#`; 255 where it has none and is the name itself.
std::optional<std::uint8_t> match(std::string_view pattern, std::string_view name) {
    const std::size_t at = pattern.find('#');
    if (at == std::string_view::npos) return pattern == name ? std::optional<std::uint8_t>(255) : std::nullopt;
    const std::string_view before = pattern.substr(0, at);
    const std::string_view behind = pattern.substr(at + 1);
    if (name.size() != pattern.size() || !name.starts_with(before) || !name.ends_with(behind)) return std::nullopt;
    if (name[at] < '0' || name[at] > '7') return std::nullopt;
    return static_cast<std::uint8_t>(name[at] - '0');
}

}  // namespace

Meaning meaning_of(std::string_view device_counter) {
    for (const MeaningRow& row : device_rows)
        if (row.name == device_counter) return {row.fact, row.unit, row.width};
    // No driver of the kernel has one; those of vendors call them so, each of its caches.
    for (const std::string_view part : {"cache_miss", "icm_miss", "CacheMiss"})
        if (device_counter.find(part) != std::string_view::npos) return {Fact::cache_misses, Unit::times, {}};
    return {};
}

std::optional<Meaning> meaning_of_ethernet(std::string_view counter) {
    for (const MeaningRow& row : ethernet_rows)
        if (const auto priority = match(row.name, counter)) return Meaning{row.fact, row.unit, row.width, *priority};
    return std::nullopt;
}

std::optional<std::uint64_t> growth(std::uint64_t before, std::uint64_t now, const Meaning& meaning) {
    if (now >= before) return now - before;
    constexpr std::uint64_t full = std::uint64_t{1} << 32;
    // A counter that advanced by more than half of its range between two readings was more likely reset by its device.
    if (meaning.width == Width::wraps_32 && before < full && now + full - before < full / 2) return now + full - before;
    // 64 bits are full after centuries, unless somebody has set the counter close to it.
    constexpr std::uint64_t near = ~std::uint64_t{0} - full;
    if (meaning.width == Width::wraps_64 && before > near && now < full) return now - before;
    return std::nullopt;
}

std::uint64_t octets_or_times(std::uint64_t value, const Meaning& meaning) {
    return meaning.unit == Unit::words ? value * 4 : value;
}

}  // namespace capture::counters
