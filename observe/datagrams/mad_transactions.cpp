#include "observe/datagrams/mad_transactions.h"

#include <algorithm>
#include <cerrno>

#include "base/hash.h"

namespace observe::datagrams {

namespace {

constexpr std::size_t most_kinds = 4096;
constexpr std::size_t most_open = 65536;
/// Requests that were given back are forgotten together, when there are at least this many of them: then looking at all
/// requests costs little for each.
constexpr std::size_t enough_given_back = most_open / 16;
constexpr std::size_t most_peers = 64;

constexpr std::uint8_t send = 0x03;
constexpr std::uint8_t trap = 0x05;
constexpr std::uint8_t trap_repress = 0x07;
constexpr std::uint8_t answer_bit = 0x80;

/// IBTA vol. 1, 13.4.5.
constexpr bool is_answer(std::uint8_t method) { return (method & answer_bit) != 0 || method == trap_repress; }

/// In a datagram on a directed route the first bit is the direction.
std::uint16_t status_of(const wire::Mad& header) {
    constexpr std::uint16_t direction = 0x8000;
    return header.management_class == wire::directed_subnet_management
               ? static_cast<std::uint16_t>(header.status & ~direction)
               : header.status;
}

}  // namespace

std::size_t MadTransactions::IdHash::operator()(const Id& id) const {
    const std::uint64_t where = std::uint64_t{id.process} << 1 | static_cast<std::uint64_t>(id.is_ours);
    const std::uint64_t what = std::uint64_t{id.peer} << 24 | std::uint64_t{id.attribute} << 8 | id.management_class;
    return base::mix(base::mix(base::mix(0, where), what), id.transaction);
}

/// What libibumad returns without an answer is a request of the program.
MadTransactions::Id MadTransactions::id_of(const TracedMad& mad, const wire::Mad& header) {
    const bool is_received = mad.passage.event == trace::MadEvent::received;
    const bool is_ours = mad.passage.event == trace::MadEvent::returned || is_received == is_answer(header.method);
    Id id{mad.process, is_ours, header.management_class, header.attribute_id, 0, header.transaction_id};
    if (is_ours)
        id.transaction &= 0xffffffff;
    else
        id.peer = mad.passage.remote_lid;
    return id;
}

void MadTransactions::add(const TracedMad& mad) {
    const auto header = wire::parse<wire::Mad>(mad.bytes);
    if (!header) {
        ++uncounted_;
        return;
    }
    ++datagrams_;
    const bool is_received = mad.passage.event == trace::MadEvent::received;
    const bool answers = is_answer(header->method);
    const Id id = id_of(mad, *header);
    if (mad.passage.event == trace::MadEvent::returned) return note_returned(mad, id);
    if (answers) return note_answer(mad, *header, id);
    // Connection management pairs its messages by other rules, and a trap need not be repressed.
    const bool expects =
        header->method != send && (is_received || header->method != trap || mad.passage.timeout_ms > 0);
    if (!expects) return note_single(mad, *header, is_received ? Role::receives : Role::sends);
    note_request(mad, *header, id, is_received ? Role::answers : Role::asks);
}

MadFigures* MadTransactions::figures(const MadKind& kind) {
    if (const auto known = kinds_.find(kind); known != kinds_.end()) return &known->second;
    if (kinds_.size() < most_kinds) return &kinds_[kind];
    ++uncounted_;
    return nullptr;
}

void MadTransactions::note_peer(MadFigures& figures, std::uint16_t lid) {
    if (figures.peers.size() == most_peers && !figures.peers.contains(lid))
        ++figures.other_peers;
    else
        ++figures.peers[lid];
}

void MadTransactions::note_single(const TracedMad& mad, const wire::Mad& header, Role role) {
    MadFigures* const counted =
        figures({mad.process, role, header.management_class, header.method, header.attribute_id});
    if (counted == nullptr) return;
    ++counted->count;
    note_peer(*counted, mad.passage.remote_lid);
}

void MadTransactions::move(Request& request, std::uint64_t MadFigures::*place) {
    MadFigures& counted = kinds_[request.kind];
    --(counted.*request.place);
    ++(counted.*place);
    if (request.place != &MadFigures::open) --given_back_;
    if (place != &MadFigures::open) ++given_back_;
    request.place = place;
}

/// Requests that were given back are kept only because their programs may send them again, as libibmad does.
bool MadTransactions::make_room() {
    if (open_.size() < most_open) return true;
    if (given_back_ < enough_given_back) return false;
    std::erase_if(open_, [](const auto& one) { return one.second.place != &MadFigures::open; });
    given_back_ = 0;
    return true;
}

void MadTransactions::note_request(const TracedMad& mad, const wire::Mad& header, const Id& id, Role role) {
    if (const auto known = open_.find(id); known != open_.end()) {
        ++kinds_[known->second.kind].repeats;
        move(known->second, &MadFigures::open);
        return;
    }
    const MadKind kind{mad.process, role, header.management_class, header.method, header.attribute_id};
    MadFigures* const counted = figures(kind);
    if (counted == nullptr) return;
    ++counted->count;
    note_peer(*counted, mad.passage.remote_lid);
    if (!make_room()) {
        ++uncounted_;
        return;
    }
    ++counted->open;
    open_.emplace(id, Request{kind, mad.time_ns, &MadFigures::open});
}

void MadTransactions::note_answer(const TracedMad& mad, const wire::Mad& header, const Id& id) {
    const auto known = open_.find(id);
    if (known == open_.end()) return;  // a second answer, or a request that was not traced
    const Request& request = known->second;
    MadFigures& counted = kinds_[request.kind];
    --(counted.*request.place);
    counted.latency_ns.record(static_cast<std::uint64_t>(std::max<std::int64_t>(mad.time_ns - request.time_ns, 0)));
    if (status_of(header) != 0) ++counted.errors;
    if (request.place != &MadFigures::open) --given_back_;
    open_.erase(known);
}

void MadTransactions::note_returned(const TracedMad& mad, const Id& id) {
    const auto known = open_.find(id);
    if (known == open_.end()) return;
    move(known->second, mad.passage.error == ETIMEDOUT ? &MadFigures::timed_out : &MadFigures::failed);
}

}  // namespace observe::datagrams
