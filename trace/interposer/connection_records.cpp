#include "trace/interposer/connection_records.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "trace/interposer/objects.h"

namespace trace::interposer {

namespace {

/// The id and kind of the event that this thread noted last.
struct Noted {
    const rdma_cm_event* event = nullptr;
    const rdma_cm_id* id = nullptr;
};
thread_local Noted noted;

/// An address as packets have it: a mapped one is IPv4. Returns the family, 0 if absent.
std::uint8_t take_address(const sockaddr_storage& from, std::array<std::uint8_t, 16>& to, std::uint16_t& port) {
    constexpr std::size_t mapped_prefix = 12;
    if (from.ss_family == AF_INET) {
        sockaddr_in address{};
        std::memcpy(&address, &from, sizeof address);
        std::memcpy(to.data(), &address.sin_addr, sizeof address.sin_addr);
        port = ntohs(address.sin_port);
        return 4;
    }
    if (from.ss_family != AF_INET6) return 0;
    sockaddr_in6 address{};
    std::memcpy(&address, &from, sizeof address);
    port = ntohs(address.sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
        std::memcpy(to.data(), address.sin6_addr.s6_addr + mapped_prefix, sizeof(in_addr));
        return 4;
    }
    std::memcpy(to.data(), address.sin6_addr.s6_addr, to.size());
    return 6;
}

void put(const rdma_cm_id& id, rdma_cm_event_type event, int status) {
    if (id.verbs != nullptr) trace(id.verbs);
    if (id.qp != nullptr) note_created(id.qp, nullptr, false);
    Lane* const lane = recorder.lane();
    if (lane == nullptr) return;
    Recording recording(*lane);
    const Device* const device = id.verbs != nullptr ? devices.find(id.verbs) : nullptr;
    Record& record = recording.next(RecordKind::connection, id.qp != nullptr ? id.qp->qp_num : 0,
                                    device != nullptr ? device->number : layout::unknown_device);
    ConnectionChange change;
    change.event = static_cast<std::uint8_t>(event);
    change.status = static_cast<std::int16_t>(status);
    const std::uint8_t family = take_address(id.route.addr.src_storage, change.local, change.local_port);
    const std::uint8_t peers = take_address(id.route.addr.dst_storage, change.peer, change.peer_port);
    change.family = family == peers ? family : 0;
    record.connection = change;
    recording.publish();
}

}  // namespace

void note_event(const rdma_cm_event& event) {
    if (event.id == nullptr) return;
    noted = {&event, event.id};
    put(*event.id, event.event, event.status);
}

void note_synchronous(const rdma_cm_id* id) {
    if (id == nullptr || id->event == nullptr || (noted.event == id->event && noted.id == id)) return;
    put(*id, id->event->event, id->event->status);
}

}  // namespace trace::interposer
