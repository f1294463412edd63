#include "fleet/rows/row_tables.h"

#include <array>
#include <utility>

#include "fleet/rows/command_rows.h"
#include "fleet/rows/flow_event_rows.h"
#include "fleet/rows/flow_rows.h"
#include "fleet/rows/path_rows.h"

namespace fleet::rows {
namespace {

using N = Nature;
using T = Type;

Table make_table(std::string_view name, std::string_view key, std::initializer_list<Column> own) {
    Table table{.name = name, .columns = place_columns(), .key = key};
    table.columns.insert(table.columns.end(), own.begin(), own.end());
    return table;
}

Row begin_row(const Place& place) {
    Row row;
    append_place(row, place);
    return row;
}

}  // namespace

const Table& answers_table() {
    static const Table table = make_table("answers", "hour,host,boot,sequence,rank",
                                          {{"rank", T::u16, N::place},
                                           {"question", T::label, N::note},
                                           {"verdict", T::label, N::note},
                                           {"grade", T::label, N::note},
                                           {"alarm", T::u8, N::note},
                                           {"confidence", T::f64, N::note},
                                           {"cost", T::f64, N::note},
                                           {"cost_basis", T::label, N::note},
                                           {"summary", T::text, N::note},
                                           {"advice", T::text, N::note},
                                           {"flows", T::u64_list, N::note},
                                           {"frames", T::u64_list, N::note}});
    return table;
}

Row answer_row(const Place& place, std::uint64_t rank, const metrics::Answer& answer) {
    Row row = begin_row(place);
    row.emplace_back(rank);
    row.emplace_back(std::string(name_of(answer.question)));
    row.emplace_back(std::string(name_of(answer.verdict)));
    row.emplace_back(std::string(name_of(grade_of(answer))));
    row.emplace_back(std::uint64_t{answer.alarm ? 1u : 0u});
    row.emplace_back(answer.confidence);
    row.emplace_back(answer.cost.share);
    row.emplace_back(std::string(name_of(answer.cost.basis)));
    row.emplace_back(answer.summary);
    row.emplace_back(answer.advice);
    row.emplace_back(answer.flows);
    Numbers frames;
    for (const metrics::Evidence& evidence : answer.evidence)
        frames.insert(frames.end(), evidence.frames.begin(), evidence.frames.end());
    row.emplace_back(std::move(frames));
    return row;
}

const Table& hosts_table() {
    static const Table table = make_table("hosts", "hour,host,boot,address,sequence",
                                          {{"address", T::label, N::place},
                                           {"sent_packets", T::u64, N::counter},
                                           {"sent_wire_bytes", T::u64, N::counter},
                                           {"received_packets", T::u64, N::counter},
                                           {"received_wire_bytes", T::u64, N::counter},
                                           {"received_requests", T::u64, N::counter},
                                           {"link_bits_per_sec", T::u64, N::identity},
                                           {"incast_senders_max", T::u64, N::identity}});
    return table;
}

Row host_row(const Place& place, const metrics::HostSnapshot& host) {
    Row row = begin_row(place);
    row.emplace_back(metrics::to_text(host.address));
    for (const std::uint64_t number :
         {host.sent_packets, host.sent_wire_bytes, host.received_packets, host.received_wire_bytes,
          host.received_requests, host.link_bits_per_sec.value_or(0), host.incast_senders_max})
        row.emplace_back(number);
    return row;
}

const Table& counters_table() {
    static const Table table = make_table("counters", "hour,host,boot,device,port,counter,sequence",
                                          {{"device", T::label, N::place},
                                           {"port", T::u32, N::place},
                                           {"counter", T::label, N::place},
                                           {"fact", T::label, N::identity},
                                           {"unit", T::label, N::identity},
                                           {"value", T::u64, N::counter}});
    return table;
}

Row counter_row(const Place& place, const metrics::DeviceCounter& counter) {
    Row row = begin_row(place);
    row.emplace_back(counter.device);
    row.emplace_back(std::uint64_t{counter.port});
    row.emplace_back(counter.name);
    row.emplace_back(std::string(wire::name_of(counter.fact)));
    row.emplace_back(std::string(name_of(counter.unit)));
    row.emplace_back(counter.value);
    return row;
}

const Table& health_table() {
    static const Table table = make_table("health", "hour,host,boot,sequence",
                                          {{"version", T::label, N::note},
                                           {"interfaces_open", T::u32, N::note},
                                           {"packets", T::u64, N::counter},
                                           {"wire_bytes", T::u64, N::counter},
                                           {"truncated", T::u64, N::counter},
                                           {"malformed", T::u64, N::counter},
                                           {"kernel_dropped", T::u64, N::counter},
                                           {"interface_dropped", T::u64, N::counter},
                                           {"flows", T::u64, N::note},
                                           {"flows_evicted", T::u64, N::counter},
                                           {"flows_forgotten", T::u64, N::counter},
                                           {"memory_bytes", T::u64, N::note},
                                           {"busy_share", T::f64, N::note},
                                           {"spool_bytes", T::u64, N::note},
                                           {"intervals_dropped", T::u64, N::counter}});
    return table;
}

Row health_row(const Place& place, const metrics::Snapshot& snapshot, const Health& health) {
    const metrics::CaptureFigures& capture = snapshot.capture;
    Row row = begin_row(place);
    row.emplace_back(health.version);
    row.emplace_back(health.interfaces_open);
    for (const std::uint64_t number :
         {capture.packets, capture.bytes, capture.truncated, capture.malformed, health.kernel_dropped,
          health.interface_dropped, std::uint64_t{snapshot.flows.size()}, capture.flows_evicted, health.flows_forgotten,
          snapshot.memory_octets})
        row.emplace_back(number);
    row.emplace_back(health.busy_share);
    row.emplace_back(health.spool_octets);
    row.emplace_back(health.intervals_dropped);
    return row;
}

std::span<const Table* const> all_tables() {
    static const std::array tables{&flows_table(),   &commands_table(), &events_table(),   &paths_table(),
                                   &answers_table(), &hosts_table(),    &counters_table(), &health_table()};
    return tables;
}

}  // namespace fleet::rows
