#pragma once
#include <cstdint>
#include <functional>

#include "dissect/dissection.h"
#include "dissect/dissector.h"

/// Records of Subnet Administration that begin in one segment and end in another: no packet has all of their bytes, so
/// that each is a layer of its own, LayerId::sa_record. Layers of a packet show the records that lie whole in it.
namespace dissect {

/// The bytes of the record's number, which come before the record.
inline constexpr std::uint32_t joined_record_prefix = 8;

/// Calls `visit` with each record that the unit's segment completes: a dissection with this one layer, and its bytes.
/// Both are invalid after the call.
void visit_joined_records(const Unit& unit, const std::function<void(const Dissection&, base::Bytes)>& visit);

}  // namespace dissect
