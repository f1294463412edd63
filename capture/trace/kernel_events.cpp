#include "capture/trace/kernel_events.h"

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <netinet/in.h>
#include <unordered_map>
#include <utility>

namespace capture::trace {

using wire::Failure;

namespace {

constexpr std::size_t max_identifiers = 65536;
constexpr std::uint8_t destroyed = 255;

std::uint64_t number_or(const Field* field, wire::Bytes record, std::uint64_t otherwise) {
    if (field == nullptr) return otherwise;
    return Format::number(*field, record).value_or(otherwise);
}

/// Into family, address and port of a connection; returns the family, 0 where it has none.
std::uint8_t read_socket_address(wire::Bytes octets, std::array<std::uint8_t, 16>& address, std::uint16_t& port) {
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
    std::uint64_t number(std::size_t index, wire::Bytes record) const { return number_or(&fields_[index], record, 0); }
    wire::Bytes octets(std::size_t index, wire::Bytes record) const { return Format::octets(fields_[index], record); }

private:
    std::vector<Field> fields_ = {};
    bool complete_ = true;
};

void forget_owner_in_kernel(Record& record) {
    if (is_kernel_thread(record.process)) record.process = 0;
}

}  // namespace

/// Which queue pair a connection identifier (`cm.id`) has.
struct ConnectionNumbers {
    void learn(std::uint64_t identifier, std::uint64_t queue_pair) {
        if (queue_pair == 0) return;
        if (numbers.size() >= max_identifiers && !numbers.contains(identifier)) numbers.erase(numbers.begin());
        numbers[identifier] = static_cast<std::uint32_t>(queue_pair) & 0xffffff;
    }
    std::uint32_t number_of(std::uint64_t identifier) const {
        const auto found = numbers.find(identifier);
        return found == numbers.end() ? 0 : found->second;
    }
    std::unordered_map<std::uint64_t, std::uint32_t> numbers = {};
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
        connections->learn(fields.number(0, sample.record), into.number);
        forget_owner_in_kernel(into);
        return true;
    };
}

Converter queue_pair_destroyed(const Format& format, std::shared_ptr<ConnectionNumbers>) {
    const Fields fields(format, {"qp_num"});
    if (!fields.complete()) return {};
    return [fields](const EventSample& sample, Record& into) {
        into.kind = RecordKind::queue_pair;
        into.number = static_cast<std::uint32_t>(fields.number(0, sample.record)) & 0xffffff;
        into.change = {};
        into.change.state = destroyed;
        forget_owner_in_kernel(into);
        return true;
    };
}

/// A REQ or REP of ours names the queue pair, which the events of its connection do not.
Converter queue_pair_named(const Format& format, std::shared_ptr<ConnectionNumbers> connections) {
    const Fields fields(format, {"cm_id", "qp_num"});
    if (!fields.complete()) return {};
    return [fields, connections = std::move(connections)](const EventSample& sample, Record&) {
        connections->learn(fields.number(0, sample.record), fields.number(1, sample.record));
        return false;
    };
}

Converter identifier_destroyed(const Format& format, std::shared_ptr<ConnectionNumbers> connections) {
    const Fields fields(format, {"cm_id"});
    if (!fields.complete()) return {};
    return [fields, connections = std::move(connections)](const EventSample& sample, Record&) {
        connections->numbers.erase(fields.number(0, sample.record));
        return false;
    };
}

Converter connection_event(const Format& format, std::shared_ptr<ConnectionNumbers> connections) {
    const Fields fields(format, {"cm_id", "event", "status", "srcaddr", "dstaddr"});
    if (!fields.complete()) return {};
    return [fields, connections = std::move(connections)](const EventSample& sample, Record& into) {
        into.kind = RecordKind::connection;
        into.number = connections->number_of(fields.number(0, sample.record));
        ConnectionChange change;
        change.event = static_cast<std::uint8_t>(fields.number(1, sample.record));
        change.status = static_cast<std::int16_t>(fields.number(2, sample.record));
        const auto family = read_socket_address(fields.octets(3, sample.record), change.local, change.local_port);
        const auto peers = read_socket_address(fields.octets(4, sample.record), change.peer, change.peer_port);
        if (family != 0 && family == peers) change.family = family;
        into.connection = change;
        forget_owner_in_kernel(into);
        return true;
    };
}

struct Row {
    KernelEventMeaning meaning;
    Converter (*make)(const Format&, std::shared_ptr<ConnectionNumbers>);
};

constexpr Row rows[] = {
    {{"rdma_cma:cm_qp_create", "queue_pair"}, queue_pair_made},
    {{"rdma_cma:cm_qp_destroy", "queue_pair, destroyed"}, queue_pair_destroyed},
    {{"rdma_cma:cm_event_handler", "connection"}, connection_event},
    {{"rdma_cma:cm_send_req", "the queue pair of a connection"}, queue_pair_named},
    {{"rdma_cma:cm_send_rep", "the queue pair of a connection"}, queue_pair_named},
    {{"rdma_cma:cm_id_destroy", "the end of a connection"}, identifier_destroyed},
};

}  // namespace

const std::vector<std::string>& rdma_event_groups() {
    static const std::vector<std::string> groups{"rdma_core", "rdma_cma", "ib_cma", "ib_mad",
                                                 "ib_umad",   "rpcrdma",                           // the kernel's own
                                                 "rvt*",      "hfi1*",    "irdma*", "hns_roce*"};  // drivers
    return groups;
}

std::vector<KernelEventMeaning> kernel_event_meanings() {
    std::vector<KernelEventMeaning> meanings;
    for (const Row& row : rows) meanings.push_back(row.meaning);
    return meanings;
}

KernelEvents::KernelEvents() : connections_(std::make_shared<ConnectionNumbers>()) {}

Converter KernelEvents::converter(std::string_view event, const Format& format) const {
    for (const Row& row : rows)
        if (row.meaning.event == event) return row.make(format, connections_);
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
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string line;
    std::getline(file, line);
    unsigned long flags = 0;
    if (const std::size_t close = line.rfind(')'); close != std::string::npos)
        static_cast<void>(std::sscanf(line.c_str() + close + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags));
    entry = {process, (flags & kernel_thread) != 0};
    return entry.kernel;
}

Result<std::unique_ptr<TraceSource>> open_kernel_trace(const KernelTraceOptions& options) {
    const auto tracefs = Tracefs::find(options.tracefs);
    if (!tracefs) return Failure{tracefs.error()};
    const KernelEvents kernel;
    std::vector<PerfEvent> events;
    for (const std::string& name : tracefs.value().events(options.events)) {
        auto format = Format::read(tracefs.value().format_path(name));
        if (!format) return Failure{format.error()};
        Converter convert = kernel.converter(name, *format);
        events.push_back({name, std::move(*format), std::move(convert)});
    }
    if (events.empty())
        return Failure{
            Error{"this kernel has none of the trace events that were asked for; those of RDMA come with its "
                  "modules (modprobe ib_core rdma_cm)",
                  tracefs.value().root() + "/events"}};
    auto source = PerfSource::open(std::move(events), options.perf);
    if (!source) return Failure{source.error()};
    return std::unique_ptr<TraceSource>(std::move(*source));
}

}  // namespace capture::trace
