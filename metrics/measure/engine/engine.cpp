#include "metrics/measure/engine/engine.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "metrics/measure/packet/opcode_traits.h"
#include "metrics/measure/packet/packet_addresses.h"
#include "metrics/measure/packet/packet_summary.h"
#include "wire/mad.h"
#include "wire/rdmap.h"

namespace metrics::inline measure::inline engine {

namespace {

constexpr std::uint32_t subnet_management_qp = 0;
constexpr std::uint32_t general_services_qp = 1;
constexpr std::size_t max_connections = 1u << 16;
constexpr std::size_t max_reuse_keys = 1u << 18;

void prefetch(const Flow& flow, unsigned begin, unsigned end) {
    const char* const first = reinterpret_cast<const char*>(&flow);  // NOLINT(*-reinterpret-cast): for its cache lines
    for (unsigned line = begin; line < end; ++line) __builtin_prefetch(first + std::size_t{64} * line, 1);
}

FlowKey tcp_key(const dissect::Dissection& dissection, base::Bytes bytes) {
    FlowKey key;
    key.source = source_address(dissection, bytes);
    key.destination = destination_address(dissection, bytes);
    key.selector = static_cast<std::uint32_t>(dissection.source_port) << 16 | dissection.destination_port;
    key.transport = wire::Transport::iwarp;
    return key;
}

/// A segment that on_tcp() has to see. Apart, so that the others pay for a test alone.
[[gnu::noinline]] void on_end(Connections& connections, iwarp::StreamTracker& streams, const wire::Frame& frame,
                              const dissect::Dissection& dissection, const FrameContext& context) {
    connections.on_tcp(frame, dissection, tcp_key(dissection, frame.bytes));
    streams.on_segment(frame, dissection, context);
}

/// The READs that may be outstanding, as the MPA start frames agreed; the Reply came on `key`. RFC 6581, 9.1.
void limit_responses(FlowStore& store, const Connections& connections, const FlowKey& key) {
    const FlowKey reverse = key.reversed();
    const ConnectionFigures* const to_client = connections.about(key);
    const ConnectionFigures* const to_server = connections.about(reverse);
    if (to_client == nullptr || to_server == nullptr) return;
    // One side's word alone is but a bound.
    if (!to_client->responder_resources || !to_server->responder_resources) return;
    const auto limit = [&](const FlowKey& way, const ConnectionFigures& figures) {
        const FlowIndex index = store.table.find(way, hash_of(way));
        if (index == no_flow) return;
        store.table[index].request.responses_limit =
            static_cast<std::uint16_t>(std::min(figures.initiator_depth.value_or(0), 0xffffu));
    };
    limit(key, *to_client);
    limit(reverse, *to_server);
}

}  // namespace

Engine::Engine(const EngineOptions& options)
    : store_(options),
      reuse_(options.reuse ? max_reuse_keys : 1),
      roce_(store_, options.reuse ? &reuse_ : nullptr),
      streams_(store_),
      connections_(max_connections) {
    store_.on_leave = [this](FlowIndex index) {
        cnps_.forget(store_.table[index]);
        streams_.forget(index);
        if (commands_) commands_->forget(store_.table[index].id);
    };
    if (options.commands) {
        commands_ = std::make_unique<CommandReading>(options.assignments);
        store_.on_read = [this](FlowIndex index) { streams_.set_upper(index, true); };
        streams_.on_watched = [this](FlowIndex index, const dissect::Unit& unit) { look_for_commands(index, unit); };
        streams_.on_read_segment = [this](const wire::Frame& frame) { commands_->note_segment(frame); };
    }
    streams_.on_fpdus = [this](const FlowKey& key) { connections_.on_fpdus(key); };
    streams_.on_reuse = [this](const FlowKey& key, std::uint64_t frame) { connections_.on_reuse(key, frame); };
}

Engine::~Engine() = default;

void Engine::end_frame() {
    store_.observe([this](ObservedFlows& observed) { describe_outstanding(observed); });
}

/// What is outstanding on each flow of the frame, after the frame.
void Engine::describe_outstanding(ObservedFlows& observed) const {
    for (const FlowIndex index : observed.counted) {
        const Flow& flow = store_.table[index];
        if (!flow.live) continue;
        std::uint64_t messages = flow.ledger.messages();
        std::uint64_t bytes = flow.ledger.bytes();
        if (const Ledger* const apart = streams_.responses_of(flow); apart != nullptr) {
            messages += apart->messages();
            bytes += apart->bytes();
        }
        observed.observer.outstanding(flow.id, messages, bytes, observed.frame);
    }
    observed.counted.clear();
}

void Engine::on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) {
    if (!dissection.has(dissect::LayerId::tcp)) return;
    if (Connections::concerns(dissection.tcp)) [[unlikely]]
        return on_end(connections_, streams_, frame, dissection, context_);
    streams_.on_segment(frame, dissection, context_);
}

void Engine::on_notice(const dissect::Notice& notice) {
    if (notice.kind == dissect::Notice::Kind::icmp_error) [[unlikely]]
        return on_icmp_error(notice);
    if (commands_ && commands_->has_begun()) commands_->note(notice);
    streams_.on_notice(notice, context_);
}

/// Routers quote at least eight bytes after the IP header: the ports, and nothing of the BTH.
FlowIndex Engine::quoted_flow(const dissect::Dissection& dissection, const dissect::IcmpError& error,
                              const Address& source, const Address& destination) {
    FlowKey key;
    key.source = source;
    key.destination = destination;
    if (error.transport == dissect::IcmpError::Transport::tcp) {
        key.selector = static_cast<std::uint32_t>(dissection.source_port) << 16 | dissection.destination_port;
        key.transport = wire::Transport::iwarp;
    } else if (dissection.quotes(dissect::LayerId::bth)) {
        key.selector = dissection.bth.destination_qp;
        key.service = service_of(wire::bth_opcode(dissection.bth.opcode).service);
    } else {
        return pairs_.latest(source, destination);
    }
    return store_.table.find(key, hash_of(key));
}

void Engine::on_icmp_error(const dissect::Notice& notice) {
    const dissect::Dissection& dissection = notice.frame_dissection;
    const auto error = dissect::icmp_error(dissection, notice.frame.bytes);
    if (!error) return;
    flush();
    const dissect::Network& quoted = dissection.quoted_network;
    const Address source = address_at(quoted.family, quoted.source_offset, notice.frame.bytes);
    const Address destination = address_at(quoted.family, quoted.destination_offset, notice.frame.bytes);
    const Address sender = source_address(dissection, notice.frame.bytes);
    const FlowIndex index = quoted_flow(dissection, *error, source, destination);
    if (index != no_flow) {
        Flow& flow = store_.table[index];
        store_.trouble(flow).icmp.add(error->kind, sender, error->mtu);
        store_.show(flow, EventKind::icmp_error, notice.frame.number, static_cast<std::uint64_t>(error->kind));
        return;
    }
    if (error->transport != dissect::IcmpError::Transport::roce2) return;
    std::optional<std::uint32_t> client_id;
    if (const dissect::LayerRef* const request = dissection.find_quoted(dissect::LayerId::cm_req); request != nullptr)
        client_id = base::load_be32(notice.frame.bytes.data() + request->offset);
    connections_.on_icmp_error(source, destination, client_id, *error, sender);
}

void Engine::on_unit(const dissect::Unit& unit) {
    if (unit.transport == wire::Transport::iwarp) {
        streams_.on_unit(unit, context_);
        if (unit.dissection.has(dissect::LayerId::mpa_request) || unit.dissection.has(dissect::LayerId::mpa_reply)) {
            const FlowKey key = tcp_key(unit.frame_dissection, unit.frame.bytes);
            connections_.on_mpa(unit, key);
            if (commands_) commands_->read_start_frame(unit);
            if (unit.dissection.has(dissect::LayerId::mpa_reply)) limit_responses(store_, connections_, key);
        }
        return;
    }
    PacketRecord& record = waiting_[waiting_count_];
    if (!make_record(unit, context_, record)) return;
    if (record.key.service == Service::ud &&
        (record.key.selector == general_services_qp || record.key.selector == subnet_management_qp)) {
        // Management packets set connections up; they are no flows.
        on_management(unit);
        return;
    }
    store_.table.prefetch_slot(record.hash);
    const bool at_once = store_.is_observed() || waits_for_no_batch(unit, record);
    if (++waiting_count_ != batch && !at_once) return;
    unit_ = &unit;
    flush();
    unit_ = nullptr;
}

// ---- commands of upper layers ----

namespace {

bool begins_send(const OpcodeTraits& traits) {
    return traits.requests && traits.starts && traits.operation <= Operation::send_invalidate &&
           traits.service == Service::rc;
}

/// A unit's payload, as far as it was captured.
base::Bytes payload_of(const dissect::Unit& unit, std::uint32_t& length) {
    const dissect::LayerRef* payload = unit.dissection.find(dissect::LayerId::payload);
    if (payload == nullptr) payload = unit.dissection.find(dissect::LayerId::ulp_payload);
    if (payload == nullptr || payload->offset + std::size_t{payload->length} > unit.bytes.size()) return {};
    length = payload->wire_length;
    return unit.bytes.subspan(payload->offset, std::min(payload->length, payload->wire_length));
}

}  // namespace

/// Whether the unit has to be worked off while its bytes are there.
bool Engine::waits_for_no_batch(const dissect::Unit& unit, const PacketRecord& record) const {
    if (!commands_) return false;
    if (commands_->has_begun()) return true;
    if (!begins_send(opcode_traits[record.opcode]) || decided_[record.hash % decided_.size()] == record.hash)
        return false;
    if (!has_many_flows() || commands_->has_assignments()) return true;  // a batch of few flows prefetches nothing
    std::uint32_t length = 0;
    const base::Bytes head = payload_of(unit, length);
    return CommandReading::looks_like_request(head, length);
}

/// A flow that is not paired may be the other half of one that is read.
bool Engine::is_of_interest(const Flow& flow) const {
    if (flow.request.watched) return true;
    return flow.reverse == no_flow && flow.key.service == Service::rc && commands_ && commands_->has_begun();
}

/// Whether a packet of a flow is to be read. Flows whose upper layer is not known are decided by their requests.
bool Engine::may_have_commands(Flow& flow, FlowIndex index, bool requests, bool begins_send, base::Bytes head,
                               std::uint64_t length) {
    if (flow.upper == UpperLayer::read) return true;
    const bool open = flow.reverse == no_flow && commands_->has_begun();
    if (flow.upper == UpperLayer::none) return open;
    const std::uint32_t back = flow.reverse == no_flow ? 0 : store_.table[flow.reverse].key.selector;
    const bool fits =
        begins_send && (CommandReading::looks_like_request(head, length) || commands_->is_named(flow.key, back));
    if (fits) {
        store_.read_upper(index);
        return true;
    }
    if (requests && FlowStore::decides_upper(flow, begins_send)) {
        flow.upper = UpperLayer::none;
        flow.request.watched = false;
        streams_.set_upper(index, false);
    }
    return open;
}

void Engine::keep_reading(FlowIndex index, bool wanted) {
    if (wanted) return;
    const FlowIndex reverse = store_.table[index].reverse;
    store_.leave_upper(index);
    for (const FlowIndex each : {index, reverse})
        if (each != no_flow) streams_.set_upper(each, false);
}

void Engine::look_for_commands(const PacketRecord& record, const wire::Frame& frame) {
    Flow& flow = store_.table[record.flow];
    const OpcodeTraits& traits = opcode_traits[record.opcode];
    const std::size_t from = std::min<std::size_t>(plain_bth_offset + traits.header_octets, frame.bytes.size());
    const base::Bytes rest = frame.bytes.subspan(from);
    const base::Bytes head = rest.first(std::min<std::size_t>(rest.size(), record.payload_length));
    if (!may_have_commands(flow, record.flow, traits.requests, begins_send(traits), head, record.payload_length))
        return;
    keep_reading(record.flow, commands_->read(frame, flow.id));
}

void Engine::look_for_commands(const PacketRecord& record, const dissect::Unit& unit) {
    Flow& flow = store_.table[record.flow];
    const OpcodeTraits& traits = opcode_traits[record.opcode];
    std::uint32_t length = 0;
    const base::Bytes head = payload_of(unit, length);
    if (!may_have_commands(flow, record.flow, traits.requests, begins_send(traits), head, length)) return;
    keep_reading(record.flow, commands_->read(unit, flow.id));
}

/// An FPDU of iWARP.
void Engine::look_for_commands(FlowIndex index, const dissect::Unit& unit) {
    Flow& flow = store_.table[index];
    const dissect::DdpSummary& ddp = unit.dissection.ddp;
    const auto opcode = static_cast<wire::RdmapOpcode>(ddp.opcode);
    const bool sends =
        !ddp.tagged &&
        (opcode == wire::RdmapOpcode::send || opcode == wire::RdmapOpcode::send_solicited ||
         opcode == wire::RdmapOpcode::send_invalidate || opcode == wire::RdmapOpcode::send_solicited_invalidate);
    std::uint32_t length = 0;
    const base::Bytes head = payload_of(unit, length);
    if (!may_have_commands(flow, index, true, sends && ddp.message_offset == 0, head, length)) return;
    keep_reading(index, commands_->read(unit, flow.id));
}

void Engine::on_plain(const wire::Frame& frame, const FrameContext& context, bool verify_crc) {
    ++plain_frames_;
    if (waiting_count_ != 0) [[unlikely]]
        flush();
    FlowIndex flow = no_flow;
    if (expected_next_ < expected_count_) {
        Expected& expected = expected_[expected_next_];
        flow = expected.flow;
        if (--expected.frames == 0 && ++expected_next_ == expected_count_) expected_next_ = expected_count_ = 0;
    }
    const bool crc_bad = verify_crc && has_bad_crc(frame);
    if (!crc_bad && roce_.on_plain(frame, context, flow)) [[likely]]
        return;
    PacketRecord& record = waiting_[0];
    make_plain_record(frame, context, crc_bad, record);
    find_flow(record);
    work_off(record);
    if (!crc_bad && is_of_interest(store_.table[record.flow])) look_for_commands(record, frame);
}

void Engine::note_expected(const wire::Frame& frame) {
    const std::byte* const bth = frame.bytes.data() + plain_bth_offset;
    const OpcodeTraits& traits = opcode_traits[base::load_u8(bth)];
    const std::uint32_t qp = base::load_be32(bth + 4) & 0xffffff;
    const PlainKey key(PlainKey::load(frame.bytes.data() + plain_addresses_offset), traits.service, qp);
    if (expected_count_ > 0 && expected_[expected_count_ - 1].key == key) {
        ++expected_[expected_count_ - 1].frames;
        return;
    }
    if (expected_count_ == batch) return;
    Expected& expected = expected_[expected_count_++];
    expected.key = key;
    expected.hash = hash_of(key, qp, traits.service);
    expected.frames = 1;
    expected.answers = !traits.requests;
    store_.table.prefetch_slot(expected.hash);
}

/// Three passes, so that the memory of one packet's flow arrives while the others' is asked for.
void Engine::fetch_expected() {
    constexpr unsigned all_lines = sizeof(Flow) / 64;
    constexpr unsigned answer_lines = 2;  // what an acknowledgement changes on its own flow, and what identifies that
                                          // flow
    constexpr unsigned message_end_line = offsetof(Flow, request.message_end_ns) / 64;
    const std::span expected(expected_.data(), expected_count_);
    for (const Expected& one : expected) {
        const FlowIndex guess = store_.table.guess(one.hash);
        if (guess != no_flow) prefetch(store_.table[guess], 0, 1);
    }
    for (Expected& one : expected) {
        one.flow = store_.table.find(one.key, one.hash);
        if (one.flow == no_flow) continue;
        const Flow& flow = store_.table[one.flow];
        prefetch(flow, 1, one.answers ? answer_lines : all_lines);
        if (flow.reverse == no_flow) continue;
        const Flow& reverse = store_.table[flow.reverse];
        prefetch(reverse, 0, one.answers ? all_lines : 1);
        if (!one.answers) prefetch(reverse, message_end_line, message_end_line + 1);
    }
    for (const Expected& one : expected) {
        if (one.flow == no_flow) continue;
        const Flow& flow = store_.table[one.flow];
        if (!one.answers)
            flow.ledger.prefetch();
        else if (flow.reverse != no_flow)
            store_.table[flow.reverse].ledger.prefetch();
    }
}

/// Sets the flow of the packet, and makes it if it is new.
void Engine::find_flow(PacketRecord& record) {
    record.flow = store_.table.find(record.key, record.hash);
    if (record.flow != no_flow) [[likely]]
        return;
    if (wire::bth_opcode(record.opcode).role == wire::BthRole::notification) return cnps_.find_flow(record);
    record.flow = cnps_.rename_guessed(record.key, record.hash);
    decided_[record.hash % decided_.size()] = 0;
    if (record.flow == no_flow) record.flow = store_.obtain(record.key, record.hash, record.frame, record.time_ns);
    if (record.source_qp != Flow::no_queue_pair) store_.table[record.flow].source_qp = record.source_qp;
    partners_.introduce(record.flow);
    cnps_.on_sender(record.flow);
    pairs_.on_flow(record.key);
}

void Engine::work_off(PacketRecord& record) {
    Flow& flow = store_.table[record.flow];
    if (record.source_qp != Flow::no_queue_pair && flow.source_qp == Flow::no_queue_pair) [[unlikely]] {
        // The flow was made by a CNP, or by a datagram that was cut too short; this one names its sender.
        flow.source_qp = record.source_qp;
        cnps_.on_sender(record.flow);
        if (flow.reverse == no_flow) partners_.introduce(record.flow);
    }
    cnps_.find_flow_again(record);
    roce_.on_packet(record);
    const bool has_unit = unit_ != nullptr && &record == &waiting_[waiting_count_ - 1];
    if (!has_unit || record.crc_bad || !commands_) return;
    if (is_of_interest(store_.table[record.flow]))
        look_for_commands(record, *unit_);
    else
        decided_[record.hash % decided_.size()] = record.hash;
}

void Engine::flush() {
    if (store_.table.live() <= few_flows) {
        for (std::size_t i = 0; i < waiting_count_; ++i) {
            find_flow(waiting_[i]);
            work_off(waiting_[i]);
        }
        waiting_count_ = 0;
        return;
    }
    // Three passes, so that the memory of one packet's flow arrives while the others' is asked for.
    for (std::size_t i = 0; i < waiting_count_; ++i) {
        const FlowIndex guess = store_.table.guess(waiting_[i].hash);
        if (guess != no_flow) prefetch(store_.table[guess], 0, 1);
    }
    for (std::size_t i = 0; i < waiting_count_; ++i) {
        waiting_[i].flow = store_.table.find(waiting_[i].key, waiting_[i].hash);
        if (waiting_[i].flow != no_flow) prefetch(store_.table[waiting_[i].flow], 0, sizeof(Flow) / 64);
    }
    for (std::size_t i = 0; i < waiting_count_; ++i) {
        if (waiting_[i].flow == no_flow) continue;
        const FlowIndex reverse = store_.table[waiting_[i].flow].reverse;
        if (reverse != no_flow) prefetch(store_.table[reverse], 0, sizeof(Flow) / 64);
    }
    for (std::size_t i = 0; i < waiting_count_; ++i) {
        PacketRecord& record = waiting_[i];
        // Making a flow for one packet may have taken another's place.
        if (record.flow == no_flow || !store_.table[record.flow].live || store_.table[record.flow].finished ||
            store_.table[record.flow].key != record.key)
            find_flow(record);
        work_off(record);
    }
    waiting_count_ = 0;
}

/// What a MAD is about; a MAD that was cut too short counts as other.
void Engine::count_management(const dissect::Unit& unit) {
    constexpr std::uint32_t class_at = 1;
    const dissect::LayerRef* const mad = unit.dissection.find(dissect::LayerId::mad);
    const bool known = mad != nullptr && mad->offset + class_at < unit.bytes.size();
    const auto kind = known ? wire::management_kind(base::load_u8(unit.bytes.data() + mad->offset + class_at))
                            : wire::ManagementKind::other;
    ++management_[static_cast<std::size_t>(kind)];
}

/// On RoCE there are connections alone, which teach nothing: most captures need no table of names.
void Engine::learn_names(const dissect::Unit& unit) {
    constexpr auto connection = static_cast<std::size_t>(wire::ManagementKind::connection);
    const bool is_of_subnet = unit.transport == wire::Transport::infiniband ||
                              std::ranges::any_of(management_, [&](const std::uint64_t& count) {
                                  return count != 0 && &count != &management_[connection];
                              });
    if (!learner_ && !is_of_subnet) return;
    if (!learner_) learner_ = std::make_unique<dissect::subnet::ManagementLearner>();
    learner_->learn(unit);
}

void Engine::on_management(const dissect::Unit& unit) {
    count_management(unit);
    learn_names(unit);
    flush();
    if (commands_) commands_->read_management(unit);
    bool ended = false;
    const Connections::QueuePairs* const pairs = connections_.on_management(unit, ended);
    if (pairs != nullptr && !ended) partners_.connect(*pairs);
}

std::size_t Engine::begin_interval(std::int64_t idle_since_ns) {
    store_.forget_frames();
    if (commands_) commands_->forget_exhibits();
    pairs_.clear();
    const std::size_t forgotten = store_.forget_idle(idle_since_ns);
    connections_.forget(idle_since_ns,
                        [this](const FlowKey& key) { return store_.table.find(key, hash_of(key)) != no_flow; });
    return forgotten;
}

void Engine::add_ages(std::vector<FlowAge>& out, std::size_t worker) const {
    for (FlowIndex index = 0; index < store_.table.extent(); ++index) {
        const Flow& flow = store_.table[index];
        if (!flow.live) continue;
        out.push_back({.is_finished = flow.finished,
                       .last_ns = flow.counts.last_ns,
                       .id = flow.id,
                       .index = index,
                       .worker = worker});
    }
}

void Engine::add_bytes(std::vector<FlowBytes>& out) const {
    for (FlowIndex index = 0; index < store_.table.extent(); ++index) {
        const Flow& flow = store_.table[index];
        if (flow.live) out.push_back({.id = flow.id, .wire_bytes = flow.counts.wire_bytes});
    }
}

void Engine::evict(FlowIndex index) {
    store_.evict(index);
    ++store_.evicted;
}

void Engine::finish() {
    flush();
    if (commands_) commands_->finish();
}

}  // namespace metrics::measure::engine
