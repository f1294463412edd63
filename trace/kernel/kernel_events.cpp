#include "trace/kernel/kernel_events.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <netinet/in.h>
#include <unordered_map>
#include <utility>

#include "base/file.h"

namespace trace::inline kernel {

using base::Failure;

namespace {

constexpr std::size_t max_identifiers = 65536;
// ibv_qp_state, and what a record says of one that is gone.
constexpr std::uint8_t ready_to_receive = 2;
constexpr std::uint8_t destroyed = 255;

std::uint64_t number_or(const Field* field, base::Bytes record, std::uint64_t otherwise) {
    if (field == nullptr) return otherwise;
    return Format::number(*field, record).value_or(otherwise);
}

/// Into family, address and port of a connection; returns the family, 0 where it has none.
std::uint8_t read_socket_address(base::Bytes octets, std::array<std::uint8_t, 16>& address, std::uint16_t& port) {
    sa_family_t family = 0;
    if (octets.size() < sizeof family) return 0;
    std::memcpy(&family, octets.data(), sizeof family);
    if (family == AF_INET && octets.size() >= sizeof(sockaddr_in)) {
        sockaddr_in from = {};
        std::memcpy(&from, octets.data(), sizeof from);
        std::memcpy(address.data(), &from.sin_addr, sizeof from.sin_addr);
        port = ntohs(from.sin_port);
        return 4;
    }
    if (family == AF_INET6 && octets.size() >= sizeof(sockaddr_in6)) {
        sockaddr_in6 from = {};
        std::memcpy(&from, octets.data(), sizeof from);
        std::memcpy(address.data(), &from.sin6_addr, sizeof from.sin6_addr);
        port = ntohs(from.sin6_port);
        return 6;
    }
    return 0;
}

/// Fields of an event, copied so that a converter stands by itself.
class Fields {
public:
    Fields(const Format& format, std::initializer_list<std::string_view> names) {
        for (const std::string_view name : names) {
            const Field* const field = format.find(name);
            complete_ = complete_ && field != nullptr;
            fields_.push_back(field != nullptr ? *field : Field());
        }
    }
    bool complete() const { return complete_; }
    std::uint64_t number(std::size_t index, base::Bytes record) const { return number_or(&fields_[index], record, 0); }
    base::Bytes octets(std::size_t index, base::Bytes record) const { return Format::octets(fields_[index], record); }

private:
    std::vector<Field> fields_ = {};
    bool complete_ = true;
};

}  // namespace

/// What a connection identifier (`cm.id`) belongs to.
struct ConnectionNumbers {
    struct Known {
        std::uint32_t number = 0;   ///< of the queue pair; 0: none yet
        std::uint32_t process = 0;  ///< that asked for the connection; 0: the kernel itself, or not known
    };

    Known& of(std::uint64_t identifier) {
        if (known.size() >= max_identifiers && !known.contains(identifier)) known.erase(known.begin());
        return known[identifier];
    }
    Known known_of(std::uint64_t identifier) const {
        const auto found = known.find(identifier);
        return found == known.end() ? Known{} : found->second;
    }
    /// 0 for threads of the kernel.
    std::uint32_t program(std::uint32_t process) const { return is_kernel(process) ? 0 : process; }

    KernelEvents::IsKernelThread is_kernel = {};
    std::unordered_map<std::uint64_t, Known> known = {};
};

namespace {

// include/trace/events/rdma_cma.h of Linux: events and fields are the same since 5.6, their places are not.

Converter queue_pair_made(const Format& format, std::shared_ptr<ConnectionNumbers> connections) {
    const Fields fields(format, {"cm_id", "qp_num", "qp_type", "send_wr", "recv_wr", "rc"});
    if (!fields.complete()) return {};
    return [fields, connections = std::move(connections)](const EventSample& sample, Record& into) {
        if (fields.number(5, sample.record) != 0) return false;  // it was not made
        into.kind = RecordKind::queue_pair;
        into.number = static_cast<std::uint32_t>(fields.number(1, sample.record)) & 0xffffff;
        into.change = {};
        into.change.type = static_cast<std::uint8_t>(fields.number(2, sample.record));
        into.change.send_capacity = static_cast<std::uint32_t>(fields.number(3, sample.record));
        into.change.receive_capacity = static_cast<std::uint32_t>(fields.number(4, sample.record));
        into.process = connections->program(sample.process);
        if (into.number != 0) connections->of(fields.number(0, sample.record)) = {into.number, into.process};
        return true;
    };
}

Converter queue_pair_destroyed(const Format& format, std::shared_ptr<ConnectionNumbers> connections) {
    const Fields fields(format, {"qp_num"});
    if (!fields.complete()) return {};
    return [fields, connections = std::move(connections)](const EventSample& sample, Record& into) {
        into.kind = RecordKind::queue_pair;
        into.number = static_cast<std::uint32_t>(fields.number(0, sample.record)) & 0xffffff;
        into.change = {};
        into.change.state = destroyed;
        into.process = connections->program(sample.process);
        return true;
    };
}

/// A REQ or REP of ours names the queue pair, which the events of its connection do not. A program sends its own, and
/// no other event of the kernel names its queue pairs.
Converter queue_pair_named(const Format& format, std::shared_ptr<ConnectionNumbers> connections) {
    const Fields fields(format, {"cm_id", "qp_num"});
    if (!fields.complete()) return {};
    return [fields, connections = std::move(connections)](const EventSample& sample, Record& into) {
        const auto number = static_cast<std::uint32_t>(fields.number(1, sample.record)) & 0xffffff;
        if (number == 0) return false;
        ConnectionNumbers::Known& known = connections->of(fields.number(0, sample.record));
        known.number = number;
        const std::uint32_t program = connections->program(sample.process);
        if (program == 0) return false;
        known.process = program;
        into.kind = RecordKind::queue_pair;
        into.number = number;
        into.process = program;
        into.change = {};
        into.change.state = ready_to_receive;
        return true;
    };
}

Converter identifier_destroyed(const Format& format, std::shared_ptr<ConnectionNumbers> connections) {
    const Fields fields(format, {"cm_id"});
    if (!fields.complete()) return {};
    return [fields, connections = std::move(connections)](const EventSample& sample, Record& into) {
        const auto known = connections->known_of(fields.number(0, sample.record));
        connections->known.erase(fields.number(0, sample.record));
        if (known.number == 0 || known.process == 0) return false;
        // No event shows the end of a program's queue pair: it goes before its connection's identifier does.
        into.kind = RecordKind::queue_pair;
        into.number = known.number;
        into.process = known.process;
        into.change = {};
        into.change.state = destroyed;
        return true;
    };
}

Converter connection_event(const Format& format, std::shared_ptr<ConnectionNumbers> connections) {
    const Fields fields(format, {"cm_id", "event", "status", "srcaddr", "dstaddr"});
    if (!fields.complete()) return {};
    return [fields, connections = std::move(connections)](const EventSample& sample, Record& into) {
        const auto known = connections->known_of(fields.number(0, sample.record));
        into.kind = RecordKind::connection;
        into.number = known.number;
        ConnectionChange change;
        change.event = static_cast<std::uint8_t>(fields.number(1, sample.record));
        change.status = static_cast<std::int16_t>(fields.number(2, sample.record));
        const auto family = read_socket_address(fields.octets(3, sample.record), change.local, change.local_port);
        const auto peers = read_socket_address(fields.octets(4, sample.record), change.peer, change.peer_port);
        if (family != 0 && family == peers) change.family = family;
        into.connection = change;
        // A thread of the kernel reports it, whichever process asked for the connection.
        into.process = connections->program(sample.process);
        if (into.process == 0) into.process = known.process;
        return true;
    };
}

struct EventRow {
    std::string_view event;
    Converter (*make)(const Format&, std::shared_ptr<ConnectionNumbers>);
};

constexpr EventRow event_rows[] = {
    {"rdma_cma:cm_qp_create", queue_pair_made},      {"rdma_cma:cm_qp_destroy", queue_pair_destroyed},
    {"rdma_cma:cm_event_handler", connection_event}, {"rdma_cma:cm_send_req", queue_pair_named},
    {"rdma_cma:cm_send_rep", queue_pair_named},      {"rdma_cma:cm_id_destroy", identifier_destroyed},
};

}  // namespace

const std::vector<std::string>& rdma_event_groups() {
    static const std::vector<std::string> groups{"rdma_core", "rdma_cma", "ib_cma", "ib_mad",
                                                 "ib_umad",   "rpcrdma",                           // the kernel's own
                                                 "rvt*",      "hfi1*",    "irdma*", "hns_roce*"};  // drivers
    return groups;
}

std::vector<std::string_view> converted_kernel_events() {
    std::vector<std::string_view> events;
    for (const EventRow& row : event_rows) events.push_back(row.event);
    return events;
}

KernelEvents::KernelEvents(IsKernelThread is_kernel) : connections_(std::make_shared<ConnectionNumbers>()) {
    connections_->is_kernel = is_kernel ? std::move(is_kernel) : is_kernel_thread;
}

Converter KernelEvents::converter(std::string_view event, const Format& format) const {
    for (const EventRow& row : event_rows)
        if (row.event == event) return row.make(format, connections_);
    return {};
}

bool is_kernel_thread(std::uint32_t process) {
    constexpr unsigned long kernel_thread = 0x00200000;  // PF_KTHREAD, field 9 of proc_pid_stat(5)
    struct Known {
        std::uint32_t process = 0;
        bool kernel = false;
    };
    thread_local std::array<Known, 256> known = {};  // an answer costs a file; a pid seldom changes its nature
    Known& entry = known[process % known.size()];
    if (entry.process == process) return process == 0 || entry.kernel;
    const std::string line = base::first_line(fmt::format("/proc/{}/stat", process));
    unsigned long flags = 0;
    if (const std::size_t close = line.rfind(')'); close != std::string::npos)
        static_cast<void>(std::sscanf(line.c_str() + close + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags));
    entry = {process, (flags & kernel_thread) != 0};
    return entry.kernel;
}

namespace {

/// Why nothing is traced; `patterns` fit no event.
base::Error no_events(const Tracefs& tracefs, const std::string& patterns) {
    std::string has;
    std::string last;
    for (const std::string& event : tracefs.events(rdma_event_groups())) {
        const std::string group = event.substr(0, event.find(':'));
        if (group != last) has += (has.empty() ? "" : ", ") + group;
        last = group;
    }
    if (!has.empty())
        return {
            fmt::format("there is no event `{}`: of RDMA this kernel has the groups {} (GROUP or GROUP:EVENT, * and "
                        "? as in the shell)",
                        patterns, has),
            tracefs.root() + "/events"};
    return {
        fmt::format("there is no event `{}`: this kernel has no trace events of RDMA now; they come with its modules "
                    "(modprobe rdma_cm), where it was built with RDMA (CONFIG_INFINIBAND)",
                    patterns),
        tracefs.root() + "/events"};
}

}  // namespace

base::Result<std::unique_ptr<TraceSource>> open_kernel_trace(const KernelTraceOptions& options) {
    const auto tracefs = Tracefs::find(options.tracefs);
    if (!tracefs) return Failure{tracefs.error()};
    for (const std::string& pattern : options.events)
        if (tracefs->events({pattern}).empty()) return Failure{no_events(*tracefs, pattern)};
    const auto& wanted = options.events.empty() ? rdma_event_groups() : options.events;
    const KernelEvents kernel;
    std::vector<PerfEvent> events;
    for (const std::string& name : tracefs->events(wanted)) {
        auto format = Format::read(tracefs->format_path(name));
        if (!format) return Failure{format.error()};
        Converter convert = kernel.converter(name, *format);
        events.push_back({name, std::move(*format), std::move(convert)});
    }
    if (events.empty()) return Failure{no_events(*tracefs, fmt::format("{}", fmt::join(wanted, ",")))};
    auto source = PerfSource::open(std::move(events), options.perf);
    if (!source) return Failure{source.error()};
    return std::unique_ptr<TraceSource>(std::move(*source));
}

}  // namespace trace::kernel
