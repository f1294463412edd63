#include "daemon/server/status_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace service::inline server {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson known(const std::optional<std::uint64_t>& value) {
    return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson interfaces_of(const Status& status) {
    OrderedJson interfaces = OrderedJson::array();
    for (const Status::Interface& one : status.interfaces)
        interfaces.push_back({{"name", one.name},
                              {"open", one.open},
                              {"received", one.received},
                              {"kernel_dropped", known(one.kernel_dropped)},
                              {"interface_dropped", known(one.interface_dropped)},
                              {"filter", one.filter},
                              {"hardware_timestamps", one.hardware_timestamps}});
    return interfaces;
}

/// Counts are the kernel's: unknown where it does not learn.
OrderedJson learning_of(const Status::Learning& learning) {
    if (!learning.narrowed) return nullptr;
    const auto counted = [&](std::uint64_t value) {
        return learning.in_kernel ? OrderedJson(value) : OrderedJson(nullptr);
    };
    return {{"in_kernel", learning.in_kernel},
            {"reason", learning.in_kernel ? OrderedJson(nullptr) : OrderedJson(learning.reason)},
            {"learnt", counted(learning.learnt)},
            {"open", counted(learning.open)},
            {"evicted", counted(learning.evicted)},
            {"withdrawn", counted(learning.withdrawn)},
            {"capacity", counted(learning.capacity)}};
}

OrderedJson control_of(const ServerCounters& counters) {
    return {{"clients", counters.clients},        {"accepted", counters.accepted}, {"refused", counters.refused},
            {"requests", counters.requests},      {"errors", counters.errors},     {"skipped", counters.skipped},
            {"closed_slow", counters.closed_slow}};
}

OrderedJson rows_of(const std::optional<Status::Rows>& rows) {
    if (!rows) return nullptr;
    return {{"intervals", rows->intervals},           {"sent_intervals", rows->sent_intervals},
            {"sent_rows", rows->sent_rows},           {"dropped_intervals", rows->dropped_intervals},
            {"spool_failures", rows->spool_failures}, {"failures", rows->failures},
            {"spool_octets", rows->spool_octets}};
}

}  // namespace

std::string status_json(const Status& status, const ServerCounters& counters) {
    const OrderedJson all{
        {"version", status.version},
        {"started_ns", status.started_ns},
        {"now_ns", status.now_ns},
        {"interfaces", interfaces_of(status)},
        {"iwarp_learning", learning_of(status.learning)},
        {"packets", status.packets},
        {"bytes", status.bytes},
        {"flows", status.flows},
        {"flows_evicted", status.flows_evicted},
        {"flows_forgotten", status.flows_forgotten},
        {"memory_octets", status.memory_octets},
        {"busy_share", std::isfinite(status.busy_share) ? OrderedJson(status.busy_share) : OrderedJson(nullptr)},
        {"history_intervals", status.history_intervals},
        {"history_octets", status.history_octets},
        {"history_lost_intervals", status.history_lost_intervals},
        {"trace_records", status.trace_records},
        {"trace_records_lost", status.trace_records_lost},
        {"recorder_frames", status.recorder_frames},
        {"recordings", status.recordings},
        {"recordings_failed", status.recordings_failed},
        {"last_recording", status.last_recording.empty() ? OrderedJson(nullptr) : OrderedJson(status.last_recording)},
        {"clickhouse", rows_of(status.clickhouse)},
        {"clients", status.clients},
        {"reloads", status.reloads},
        {"needs_restart", status.needs_restart},
        {"control", control_of(counters)}};
    // Names of interfaces and paths need not be UTF-8.
    return all.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace service::server
