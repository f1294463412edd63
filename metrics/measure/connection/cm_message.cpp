#include "metrics/measure/connection/cm_message.h"

#include <algorithm>

#include "metrics/measure/packet/packet_addresses.h"
#include "wire/cm_dreq.h"
#include "wire/cm_mra.h"
#include "wire/cm_rej.h"
#include "wire/cm_rep.h"
#include "wire/cm_req.h"
#include "wire/cm_rtu.h"
#include "wire/cm_sidr.h"
#include "wire/mpa.h"

namespace metrics::inline measure::inline connection::cm {

namespace {

using dissect::LayerId;
using Family = wire::AddressFamily;

/// 4.096 us times two to the power of a field of five bits. IBTA vol. 1, 12.7.34 among others.
std::uint64_t timeout_ns(std::uint8_t exponent) { return std::uint64_t{4096} << exponent; }

/// IBTA vol. 1, annexes A11 and A14. Ports are those of rdma_cm's services, whatever their IP protocol.
void read_ports(const std::byte* service_id, base::Bytes private_data, Request& out) {
    if (!wire::is_ip_service(service_id)) return;
    out.server_port = base::load_be16(service_id + 6);
    if (const auto ip = wire::parse<wire::IpCm>(private_data)) out.client_port = ip->source_port;
}

Address lid_address(std::uint16_t lid) {
    Address address;
    address.family = Family::lid;
    address.octets[0] = static_cast<std::uint8_t>(lid >> 8);
    address.octets[1] = static_cast<std::uint8_t>(lid);
    return address;
}
Address gid_address(const std::array<std::byte, 16>& gid) {
    Address address;
    address.family = Family::gid;
    std::memcpy(address.octets.data(), gid.data(), gid.size());
    return address;
}

/// Management datagrams may go another way than the connection: on InfiniBand the primary path says where, and whether
/// its packets have a GRH.
void read_path(const wire::CmReq& req, Request& out) {
    if (req.primary_subnet_local != 0) {
        if (req.primary_local_lid == 0 || req.primary_remote_lid == 0) return;
        out.local = lid_address(req.primary_local_lid);
        out.remote = lid_address(req.primary_remote_lid);
    } else {
        out.local = gid_address(req.primary_local_gid);
        out.remote = gid_address(req.primary_remote_gid);
    }
}

Service service_of(const wire::CmReq& req) {
    constexpr std::uint8_t extended_xrc = 1;
    switch (req.transport_service) {
        case 0: return Service::rc;
        case 1: return Service::uc;
        case 2: return Service::rd;
        default: return req.extended_transport == extended_xrc ? Service::xrc : Service::rc;
    }
}

void read_request(base::Bytes octets, Message& out) {
    const auto req = *wire::parse<wire::CmReq>(octets);
    out.local_id = req.local_communication_id;
    Request& request = out.request;
    request.service_id = req.service_id;
    request.qpn = req.local_qpn;
    request.starting_psn = req.starting_psn;
    request.responder_resources = req.responder_resources;
    request.initiator_depth = req.initiator_depth;
    if (req.path_mtu >= 1 && req.path_mtu <= 5) request.path_mtu = 128u << req.path_mtu;
    if (req.primary_ack_timeout != 0) request.ack_timeout_ns = timeout_ns(req.primary_ack_timeout);
    request.response_timeout_ns = timeout_ns(req.remote_response_timeout);
    request.retry_count = req.retry_count;
    request.rnr_retry_count = req.rnr_retry_count;
    request.service = service_of(req);
    read_ports(octets.data() + wire::cm_req_service_id_offset, octets.subspan(wire::cm_req_private_offset), request);
    if (out.transport == wire::Transport::infiniband) read_path(req, request);
}

void read_reply(base::Bytes octets, Message& out) {
    const auto rep = *wire::parse<wire::CmRep>(octets);
    out.local_id = rep.local_communication_id;
    out.remote_id = rep.remote_communication_id;
    out.reply = {rep.local_qpn, rep.starting_psn, rep.responder_resources, rep.initiator_depth, rep.rnr_retry_count};
}

/// Messages that begin with the two communication ids.
void read_ids(base::Bytes octets, Message& out) {
    out.local_id = base::load_be32(octets.data());
    out.remote_id = base::load_be32(octets.data() + 4);
}

constexpr LayerId messages[] = {LayerId::cm_req,  LayerId::cm_mra,      LayerId::cm_rej,
                                LayerId::cm_rep,  LayerId::cm_rtu,      LayerId::cm_dreq,
                                LayerId::cm_drep, LayerId::cm_sidr_req, LayerId::cm_sidr_rep};

}  // namespace

bool read(const dissect::Unit& unit, Message& out) {
    const auto* const found =
        std::find_if(std::begin(messages), std::end(messages), [&](LayerId id) { return unit.dissection.has(id); });
    if (found == std::end(messages)) return false;
    const dissect::LayerRef& layer = *unit.dissection.find(*found);
    if (layer.length < wire::cm_message_octets || unit.bytes.size() < layer.offset + std::size_t{layer.length})
        return false;
    const base::Bytes octets = unit.bytes.subspan(layer.offset, layer.length);
    out = {};
    out.layer = *found;
    out.transport = unit.transport;
    out.source = source_address(unit.dissection, unit.bytes);
    out.destination = destination_address(unit.dissection, unit.bytes);
    switch (*found) {
        case LayerId::cm_req: read_request(octets, out); break;
        case LayerId::cm_rep: read_reply(octets, out); break;
        case LayerId::cm_rej:
            read_ids(octets, out);
            out.reason = wire::parse<wire::CmRej>(octets)->reason;
            break;
        case LayerId::cm_mra:
            read_ids(octets, out);
            out.timeout_ns = timeout_ns(wire::parse<wire::CmMra>(octets)->service_timeout);
            break;
        case LayerId::cm_sidr_req:
            out.local_id = base::load_be32(octets.data());
            read_ports(octets.data() + wire::cm_sidr_req_service_id_offset,
                       octets.subspan(wire::cm_sidr_req_private_offset), out.request);
            break;
        case LayerId::cm_sidr_rep:
            out.local_id = base::load_be32(octets.data());
            out.reason = wire::parse<wire::CmSidrRep>(octets)->status;
            break;
        default: read_ids(octets, out); break;
    }
    return true;
}

namespace {
std::string named(std::span<const wire::ValueName> names, std::uint16_t value, std::string_view word) {
    const std::string_view name = wire::name_of(names, value);
    return name.empty() ? std::string{word} + ' ' + std::to_string(value) : std::string{name};
}
}  // namespace

std::string reject_words(std::uint16_t reason) { return named(wire::cm_reject_reason_names, reason, "reason"); }
std::string resolution_words(std::uint16_t status) { return named(wire::sidr_status_names, status, "status"); }

std::optional<RejectReason> reject_reason(std::uint16_t reason) {
    switch (reason) {
        case 1: return RejectReason::no_queue_pair;
        case 3: return RejectReason::no_resources;
        case 4: return RejectReason::timeout;
        case 8: return RejectReason::invalid_service_id;
        case 10: return RejectReason::stale_connection;
        default: return std::nullopt;
    }
}
std::optional<RejectReason> resolution_reject_reason(std::uint16_t status) {
    if (status == 3) return RejectReason::no_queue_pair;
    return std::nullopt;
}

bool read(const dissect::Unit& unit, MpaFrame& out) {
    out = {};
    out.request = unit.dissection.has(LayerId::mpa_request);
    const dissect::LayerRef* layer = unit.dissection.find(out.request ? LayerId::mpa_request : LayerId::mpa_reply);
    if (layer == nullptr || unit.bytes.size() < layer->offset) return false;
    const base::Bytes octets = unit.bytes.subspan(layer->offset);
    const auto start = wire::parse<wire::MpaRequest>(octets);
    if (!start) return false;
    out.rejected = !out.request && start->rejected;
    out.crc = start->crc;
    out.markers = start->marker;
    out.revision = start->revision;
    const base::Bytes data = octets.subspan(wire::size_of<wire::MpaRequest>);
    const std::size_t length = std::min<std::size_t>(start->private_length, data.size());
    if (const auto legacy = wire::mpa_legacy(start->revision, data.first(length))) {
        out.limits = {legacy->depths.ird, legacy->depths.ord};
        out.by_convention = true;
    }
    if (!start->enhanced() || start->private_length < wire::size_of<wire::MpaEnhanced>) return true;
    const auto enhanced = wire::parse<wire::MpaEnhanced>(octets.subspan(wire::size_of<wire::MpaRequest>));
    if (!enhanced) return true;
    out.peer_to_peer = enhanced->peer_to_peer;
    if (enhanced->ird != wire::mpa_depth_unspecified) out.limits.ird = enhanced->ird;
    if (enhanced->ord != wire::mpa_depth_unspecified) out.limits.ord = enhanced->ord;
    return true;
}

std::optional<std::uint32_t> lower_of(const std::optional<std::uint32_t>& a, const std::optional<std::uint32_t>& b) {
    return a && b ? std::min(*a, *b) : a ? a : b;
}

}  // namespace metrics::measure::connection::cm
