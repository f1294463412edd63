#include "fabric/counter.h"

#include "base/clock.h"
#include "wire/attribute_field.h"
#include "wire/mad_performance.h"

namespace fabric {

namespace {

constexpr wire::FieldInfo narrow(std::string_view name) { return wire::field_named(wire::mad::port_counters, name); }
constexpr wire::FieldInfo wide(std::string_view name) {
    return wire::field_named(wire::mad::port_counters_extended, name);
}

constexpr unsigned bytes_per_word = 4;

constexpr std::array<CounterRow, counter_count> rows_of_counters{{
    {Counter::transmit_bytes, "transmit_bytes", "PortXmitData", narrow("infiniband.portcounters.portxmitdata"),
     wide("infiniband.portcounters_ext.portxmitdata"), bytes_per_word},
    {Counter::receive_bytes, "receive_bytes", "PortRcvData", narrow("infiniband.portcounters.portrcvdata"),
     wide("infiniband.portcounters_ext.portrcvdata"), bytes_per_word},
    {Counter::transmit_packets, "transmit_packets", "PortXmitPkts", narrow("infiniband.portcounters.portxmitpkts"),
     wide("infiniband.portcounters_ext.portxmitpkts")},
    {Counter::receive_packets, "receive_packets", "PortRcvPkts", narrow("infiniband.portcounters.portrcvpkts"),
     wide("infiniband.portcounters_ext.portrcvpkts")},
    {Counter::transmit_wait, "transmit_wait", "PortXmitWait", narrow("rdma.portcounters.xmitwait"),
     wide("rdma.portcounters_ext.xmitwait")},
    {Counter::symbol_errors, "symbol_errors", "SymbolErrorCounter",
     narrow("infiniband.portcounters.symbolerrorcounter"), wide("rdma.portcounters_ext.symbolerrorcounter")},
    {Counter::link_recoveries, "link_recoveries", "LinkErrorRecoveryCounter",
     narrow("infiniband.portcounters.linkerrorrecoverycounter"),
     wide("rdma.portcounters_ext.linkerrorrecoverycounter")},
    {Counter::link_downed, "link_downed", "LinkDownedCounter", narrow("infiniband.portcounters.linkdownedcounter"),
     wide("rdma.portcounters_ext.linkdownedcounter")},
    {Counter::receive_errors, "receive_errors", "PortRcvErrors", narrow("infiniband.portcounters.portrcverrors"),
     wide("rdma.portcounters_ext.portrcverrors")},
    {Counter::receive_remote_errors, "receive_remote_errors", "PortRcvRemotePhysicalErrors",
     narrow("infiniband.portcounters.portrcvremotephysicalerrors"),
     wide("rdma.portcounters_ext.portrcvremotephysicalerrors")},
    {Counter::receive_relay_errors, "receive_relay_errors", "PortRcvSwitchRelayErrors",
     narrow("infiniband.portcounters.portrcvswitchrelayerrors"),
     wide("rdma.portcounters_ext.portrcvswitchrelayerrors")},
    {Counter::transmit_discards, "transmit_discards", "PortXmitDiscards",
     narrow("infiniband.portcounters.portxmitdiscards"), wide("rdma.portcounters_ext.portxmitdiscards")},
    {Counter::transmit_constraint_errors, "transmit_constraint_errors", "PortXmitConstraintErrors",
     narrow("infiniband.portcounters.portxmitconstrainterrors"),
     wide("rdma.portcounters_ext.portxmitconstrainterrors")},
    {Counter::receive_constraint_errors, "receive_constraint_errors", "PortRcvConstraintErrors",
     narrow("infiniband.portcounters.portrcvconstrainterrors"), wide("rdma.portcounters_ext.portrcvconstrainterrors")},
    {Counter::integrity_errors, "integrity_errors", "LocalLinkIntegrityErrors",
     narrow("infiniband.portcounters.locallinkintegrityerrors"),
     wide("rdma.portcounters_ext.locallinkintegrityerrors")},
    {Counter::buffer_overruns, "buffer_overruns", "ExcessiveBufferOverrunErrors",
     narrow("infiniband.portcounters.excessivebufferoverrunerrors"),
     wide("rdma.portcounters_ext.excessivebufferoverrunerrors")},
    {Counter::vl15_dropped, "vl15_dropped", "VL15Dropped", narrow("infiniband.portcounters.vl15dropped"),
     wide("rdma.portcounters_ext.vl15dropped")},
}};

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < rows_of_counters.size(); ++i)
        if (static_cast<std::size_t>(rows_of_counters[i].counter) != i) return false;
    return true;
}
static_assert(is_in_order());

}  // namespace

std::span<const CounterRow> counter_rows() { return rows_of_counters; }

const CounterRow& row_of(Counter counter) { return rows_of_counters[static_cast<std::size_t>(counter)]; }

std::optional<std::uint64_t> growth(const CounterReading& before, const CounterReading& after, Counter counter) {
    const auto from = before.value(counter);
    const auto to = after.value(counter);
    if (!from || !to || *to < *from || before.is_at_limit(counter)) return {};
    return *to - *from;
}

std::optional<double> growth_per_sec(const CounterReading& before, const CounterReading& after, Counter counter) {
    const auto grown = growth(before, after, counter);
    const std::uint64_t elapsed_ns = base::elapsed(before.time_ns, after.time_ns);
    if (!grown || elapsed_ns == 0) return {};
    return static_cast<double>(*grown) * static_cast<double>(base::ns_per_sec) / static_cast<double>(elapsed_ns);
}

}  // namespace fabric
