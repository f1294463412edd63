#pragma once
#include "wire/field.h"

/// The outermost headings, shared by the layers below them; names as Wireshark has them.
namespace dissect::protocol {

inline constexpr wire::FieldInfo ethernet{"eth", "Ethernet II"};
inline constexpr wire::FieldInfo infiniband{"infiniband", "InfiniBand"};
inline constexpr wire::FieldInfo mpa{"iwarp_mpa", "iWARP Marker Protocol data unit Aligned framing"};
inline constexpr wire::FieldInfo ddp_rdmap{"iwarp_ddp_rdmap", "iWARP Direct Data Placement and Remote Direct Memory Access Protocol"};

}  // namespace dissect::protocol
