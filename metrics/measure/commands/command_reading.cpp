#include "metrics/measure/commands/command_reading.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "metrics/measure/commands/command_measure.h"
#include "upper/reader.h"
#include "upper/set_up.h"
#include "upper/upper_protocol.h"

namespace metrics::inline measure::inline commands {

namespace {

upper::ReaderOptions reader_options(const std::vector<upper::Assignment>& assignments) {
    upper::ReaderOptions options;
    options.assignments = assignments;
    options.only_named = true;
    return options;
}

/// CRCs were verified before, and repeats are of no interest.
dissect::DissectorOptions dissector_options() {
    dissect::DissectorOptions options;
    options.parse.verify_crc = false;
    options.follow_streams = false;
    options.find_repeats = false;
    return options;
}

upper::Endpoint endpoint_of(const Address& address, std::uint32_t number) {
    upper::Endpoint end;
    end.family = address.family;
    end.number = number;
    std::memcpy(end.address.data(), address.octets.data(), end.address.size());
    return end;
}

/// What a flow is in its connection.
struct Place {
    std::uint64_t connection = 0;
    bool is_initiator = false;
};

constexpr std::size_t octets_of_connection = 4096;  ///< about what a connection and its figures take

}  // namespace

struct CommandReading::State {
    explicit State(const std::vector<upper::Assignment>& given)
        : assignments(given), reader(reader_options(given), nullptr, &measure) {}

    bool is_assigned(bool is_queue_pair, std::uint32_t number) const {
        return std::ranges::any_of(assignments, [=](const upper::Assignment& assignment) {
            return assignment.is_queue_pair == is_queue_pair && assignment.number == number;
        });
    }
    bool is_port_assigned(std::uint32_t port) const { return is_assigned(false, port); }

    std::vector<upper::Assignment> assignments;
    CommandMeasure measure;
    upper::Reader reader;
    dissect::Dissector dissector{dissector_options()};
    std::unordered_map<std::uint64_t, Place> flows = {};  ///< by their id
    std::uint64_t last_flow = 0;                          ///< whose place was kept last
    Place last_place = {};
};

CommandReading::CommandReading(const std::vector<upper::Assignment>& assignments)
    : state_(std::make_unique<State>(assignments)) {}
CommandReading::~CommandReading() = default;

bool CommandReading::looks_like_request(base::Bytes head, std::uint64_t length) {
    return std::ranges::any_of(upper::all_protocols(), [head, length](const upper::Protocol* protocol) {
        return protocol->shape(head, length) == upper::Shape::request;
    });
}

bool CommandReading::has_assignments() const { return !state_->assignments.empty(); }

/// Keeps which connection the flow belongs to, by the unit that was read last.
bool CommandReading::keep_place(std::uint64_t flow) {
    has_begun_ = true;
    const upper::Reader::Place read = state_->reader.last_place();
    if (read.connection == nullptr) return true;
    if (read.connection->is_ignored()) return false;
    if (read.connection->protocol() == nullptr) return true;
    const Place place{read.connection->number(), read.connection->initiator() == read.side};
    const bool is_known = state_->last_flow == flow && state_->last_place.connection == place.connection &&
                          state_->last_place.is_initiator == place.is_initiator;
    if (is_known) return true;
    state_->last_flow = flow;
    state_->last_place = place;
    state_->flows[flow] = place;
    return true;
}

bool CommandReading::read(const dissect::Unit& unit, std::uint64_t flow) {
    state_->reader.on_unit(unit);
    return keep_place(flow);
}

bool CommandReading::read(const wire::Frame& frame, std::uint64_t flow) {
    state_->dissector.dissect(frame, state_->reader);
    return keep_place(flow);
}

void CommandReading::read_management(const dissect::Unit& unit) {
    state_->reader.on_unit(unit);
    // A connection that its set-up names may begin with operations of RDMA, before its first SEND.
    has_begun_ = has_begun_ || state_->measure.has_connections();
}

void CommandReading::read_start_frame(const dissect::Unit& unit) {
    if (!unit.dissection.has(dissect::LayerId::mpa_request)) return;
    const std::uint16_t port = unit.frame_dissection.destination_port;
    const upper::SetUp set_up = upper::read_mpa_request(unit, port);
    const bool is_named = set_up.by_private_data != nullptr || set_up.by_service != nullptr;
    if (is_named || state_->is_port_assigned(port)) state_->reader.on_unit(unit);
}

bool CommandReading::is_named(const FlowKey& key, std::uint32_t reverse_selector) const {
    if (key.transport == wire::Transport::iwarp)
        return state_->is_port_assigned(key.selector >> 16) || state_->is_port_assigned(key.selector & 0xffff);
    if (state_->is_assigned(true, key.selector)) return true;
    if (reverse_selector != 0 && state_->is_assigned(true, reverse_selector)) return true;
    return state_->reader.knows(endpoint_of(key.source, 0), endpoint_of(key.destination, key.selector));
}

void CommandReading::note_segment(const wire::Frame& frame) { state_->reader.note_time(frame); }

void CommandReading::note(const dissect::Notice& notice) { state_->reader.on_notice(notice); }

void CommandReading::finish() { state_->reader.finish(); }

void CommandReading::refresh() {
    state_->reader.visit_connections([this](upper::Connection& connection) { state_->measure.refresh(connection); });
}

void CommandReading::describe(std::uint64_t flow, std::int64_t end_ns,
                              base::CompactOptional<CommandConnectionFigures>& out) const {
    const auto found = state_->flows.find(flow);
    if (found == state_->flows.end()) return;
    const CommandConnectionFigures* const figures = state_->measure.find(found->second.connection);
    if (figures == nullptr) return;
    if (found->second.is_initiator) {
        out.emplace(*figures);
        state_->measure.count_long_waits(found->second.connection, end_ns, *out);
        return;
    }
    CommandConnectionFigures& of_target = out.emplace();
    of_target.protocol = figures->protocol;
    of_target.heading = figures->heading;
    of_target.evidence = figures->evidence;
    of_target.confidence = figures->confidence;
    of_target.of_target = true;
}

void CommandReading::forget(std::uint64_t flow) {
    const auto found = state_->flows.find(flow);
    if (found == state_->flows.end()) return;
    if (found->second.is_initiator) state_->measure.forget(found->second.connection);
    state_->flows.erase(found);
    state_->last_flow = 0;
    state_->last_place = {};
}

void CommandReading::forget_exhibits() { state_->measure.forget_exhibits(); }

std::size_t CommandReading::octets() const { return state_->flows.size() * octets_of_connection; }

}  // namespace metrics::measure::commands
