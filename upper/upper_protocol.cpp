#include "upper/upper_protocol.h"

#include <algorithm>
#include <array>

#include "upper/protocols/ipoib_protocol.h"
#include "upper/protocols/iser_protocol.h"
#include "upper/protocols/nvme_protocol.h"
#include "upper/protocols/rds_protocol.h"
#include "upper/protocols/rpc_protocol.h"
#include "upper/protocols/rsocket_protocol.h"
#include "upper/protocols/smb_protocol.h"
#include "upper/protocols/srp_protocol.h"

namespace upper {

namespace {
constexpr std::array known_protocols{&protocols::nvme, &protocols::rpc,   &protocols::srp, &protocols::iser,
                                     &protocols::smb,  &protocols::ipoib, &protocols::rds, &protocols::rsocket};
}  // namespace

std::string_view name_of(ErrorClass error) {
    switch (error) {
        case ErrorClass::none: return {};
        case ErrorClass::device: return "device";
        case ErrorClass::path: return "path";
        case ErrorClass::protocol: return "protocol";
        case ErrorClass::aborted: return "aborted";
        case ErrorClass::busy: return "busy";
        case ErrorClass::denied: return "denied";
    }
    return {};
}

std::span<const Protocol* const> all_protocols() { return known_protocols; }

std::string protocol_names() {
    std::string names;
    for (const Protocol* protocol : known_protocols) {
        if (!names.empty()) names += ", ";
        names += protocol->name;
    }
    return names;
}

const Protocol* find_protocol(std::string_view name) {
    for (const Protocol* protocol : known_protocols)
        if (protocol->name == name) return protocol;
    return nullptr;
}

const Protocol* protocol_of_port(std::uint16_t port) {
    for (const Protocol* protocol : known_protocols)
        if (std::find(protocol->ports.begin(), protocol->ports.end(), port) != protocol->ports.end()) return protocol;
    return nullptr;
}

const Protocol* protocol_of_service(const std::byte* service_id) {
    for (const Protocol* protocol : known_protocols)
        if (protocol->is_service != nullptr && protocol->is_service(service_id)) return protocol;
    return nullptr;
}

}  // namespace upper
