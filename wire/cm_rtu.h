#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/cm.h"

namespace wire {

/// Ready to Use: the requester has accepted the reply, and the connection is established. IBTA vol. 1, 12.6.9.
struct CmRtu {
    std::uint32_t local_communication_id = 0;
    std::uint32_t remote_communication_id = 0;
    std::array<std::byte, 224> private_data{};
};

template <>
inline constexpr auto layout_of<CmRtu> = layout(
    cm_heading, "CM ReadyToUse",
    bits<&CmRtu::local_communication_id, 32>("infiniband.cm.rtu.localcommid", "Local Communication ID").hex(),
    bits<&CmRtu::remote_communication_id, 32>("infiniband.cm.rtu.remotecommid", "Remote Communication ID").hex(),
    octets<&CmRtu::private_data>("infiniband.cm.rtu.private", "PrivateData"));
static_assert(size_of<CmRtu> == cm_message_octets);

}  // namespace wire
