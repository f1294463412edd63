#include "upper/set_up.h"

#include <algorithm>

#include "wire/cm.h"
#include "wire/cm_rej.h"
#include "wire/cm_rep.h"
#include "wire/cm_req.h"
#include "wire/mpa.h"

namespace upper {

namespace {

void read_private_data(base::Bytes data, SetUp& set_up) {
    set_up.private_data = data;
    for (const Protocol* protocol : all_protocols()) {
        if (!protocol->read_private_data(data, set_up.facts)) continue;
        set_up.by_private_data = protocol;
        return;
    }
}

/// A layer's bytes where all of it was captured.
std::optional<base::Bytes> octets_of(const dissect::Unit& unit, dissect::LayerId id) {
    const dissect::LayerRef* layer = unit.dissection.find(id);
    if (layer == nullptr || layer->length < layer->wire_length ||
        layer->offset + std::size_t{layer->length} > unit.bytes.size())
        return std::nullopt;
    return unit.bytes.subspan(layer->offset, layer->length);
}

/// The private data that end a message.
template <class Message>
base::Bytes private_data_of(base::Bytes octets) {
    return octets.last(std::tuple_size_v<decltype(Message::private_data)>);
}

}  // namespace

ManagementFinding ConnectionManager::read_request(base::Bytes octets, const Endpoint& source,
                                                  const Endpoint& destination) {
    const auto request = wire::parse<wire::CmReq>(octets);
    if (!request) return {};
    if (requests_.size() == max_requests) requests_.pop_front();
    Request& kept = requests_.emplace_back();
    kept.communication_id = request->local_communication_id;
    kept.requester = source;
    kept.requester.number = request->local_qpn;
    kept.acceptor = destination;
    const std::byte* service_id = octets.data() + wire::cm_req_service_id_offset;
    base::Bytes data = private_data_of<wire::CmReq>(octets);
    if (wire::is_ip_service(service_id)) {
        kept.set_up.port = base::load_be16(service_id + 6);
        kept.set_up.by_service = protocol_of_port(kept.set_up.port);
        data = data.subspan(wire::size_of<wire::IpCm>);
    } else {
        kept.set_up.by_service = protocol_of_service(service_id);
        // Such an identifier is no guess, as a port is one.
        kept.set_up.by_private_data = kept.set_up.by_service;
    }
    if (kept.set_up.by_private_data == nullptr) read_private_data(data, kept.set_up);
    return {std::nullopt, kept.set_up.by_private_data, 0, data};
}

std::deque<ConnectionManager::Request>::iterator ConnectionManager::find(std::uint32_t communication_id,
                                                                         const Endpoint& acceptor,
                                                                         const Endpoint& requester) {
    for (auto at = requests_.end(); at != requests_.begin();) {
        --at;
        if (at->communication_id == communication_id && at->requester.address == requester.address &&
            at->acceptor.address == acceptor.address)
            return at;
    }
    return requests_.end();
}

ManagementFinding ConnectionManager::read_reply(base::Bytes octets, const Endpoint& source,
                                                const Endpoint& destination) {
    const auto reply = wire::parse<wire::CmRep>(octets);
    if (!reply) return {};
    const auto found = find(reply->remote_communication_id, source, destination);
    if (found == requests_.end()) return {};
    ManagedConnection made{found->set_up, found->requester, found->acceptor};
    made.acceptor.number = reply->local_qpn;
    requests_.erase(found);
    const Protocol* protocol = made.set_up.by_private_data;
    const base::Bytes data = private_data_of<wire::CmRep>(octets);
    if (protocol != nullptr && protocol->read_reply != nullptr) protocol->read_reply(data, made.set_up.facts);
    return {std::move(made), protocol, 1, data};
}

ManagementFinding ConnectionManager::read_reject(base::Bytes octets, const Endpoint& source,
                                                 const Endpoint& destination) {
    const auto reject = wire::parse<wire::CmRej>(octets);
    if (!reject) return {};
    const auto found = find(reject->remote_communication_id, source, destination);
    if (found == requests_.end()) return {};
    const Protocol* protocol = found->set_up.by_private_data;
    requests_.erase(found);
    return {std::nullopt, protocol, 2, private_data_of<wire::CmRej>(octets)};
}

ManagementFinding ConnectionManager::read(const dissect::Unit& unit, const Endpoint& source,
                                          const Endpoint& destination) {
    if (const auto octets = octets_of(unit, dissect::LayerId::cm_req))
        return read_request(*octets, source, destination);
    if (const auto octets = octets_of(unit, dissect::LayerId::cm_rep)) return read_reply(*octets, source, destination);
    if (const auto octets = octets_of(unit, dissect::LayerId::cm_rej)) return read_reject(*octets, source, destination);
    return {};
}

base::Bytes read_mpa_reply(const dissect::Unit& unit) {
    const auto octets = octets_of(unit, dissect::LayerId::mpa_reply);
    if (!octets || octets->size() < wire::size_of<wire::MpaRequest>) return {};
    const base::Bytes data = octets->subspan(wire::size_of<wire::MpaRequest>);
    const auto reply = wire::parse<wire::MpaRequest>(*octets);
    const bool is_enhanced = reply && reply->enhanced() && data.size() >= wire::size_of<wire::MpaEnhanced>;
    return is_enhanced ? data.subspan(wire::size_of<wire::MpaEnhanced>) : data;
}

SetUp read_mpa_request(const dissect::Unit& unit, std::uint16_t port) {
    SetUp set_up;
    set_up.port = port;
    set_up.by_service = protocol_of_port(port);
    const auto octets = octets_of(unit, dissect::LayerId::mpa_request);
    if (!octets || octets->size() < wire::size_of<wire::MpaRequest>) return set_up;
    base::Bytes data = octets->subspan(wire::size_of<wire::MpaRequest>);
    const auto request = wire::parse<wire::MpaRequest>(*octets);
    if (request && request->enhanced() && data.size() >= wire::size_of<wire::MpaEnhanced>)
        data = data.subspan(wire::size_of<wire::MpaEnhanced>);
    read_private_data(data, set_up);
    return set_up;
}

}  // namespace upper
