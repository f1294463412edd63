#pragma once
#include <array>

#include "wire/mad_attribute.h"

/// What every class says of itself. IBTA vol. 1, 13.4.8.
namespace wire::mad {

inline constexpr std::array class_port_info{
    hex(0, 8, "infiniband.classportinfo.baseversion", "BaseVersion"),
    hex(1, 8, "infiniband.classportinfo.classversion", "ClassVersion"),
    hex(2, 16, "infiniband.classportinfo.capabilitymask", "CapabilityMask"),
    hex(4, 27, "infiniband.classportinfo.capabilitymask2", "CapabilityMask2"),
    hex({7, 3}, 5, "infiniband.classportinfo.resptimevalue", "RespTimeValue"),
    gid(8, "infiniband.classportinfo.redirectgid", "RedirectGID"),
    hex(24, 8, "infiniband.classportinfo.redirecttc", "RedirectTC"),
    hex(25, 4, "infiniband.classportinfo.redirectsl", "RedirectSL"),
    hex({25, 4}, 20, "infiniband.classportinfo.redirectfl", "RedirectFL"),
    hex(28, 16, "infiniband.classportinfo.redirectlid", "RedirectLID"),
    hex(30, 16, "infiniband.classportinfo.redirectpkey", "RedirectP_Key"),
    hex(32, 8, "infiniband.classportinfo.reserved", "Reserved"),
    hex(33, 24, "infiniband.classportinfo.redirectqp", "RedirectQP"),
    hex(36, 32, "infiniband.classportinfo.redirectqkey", "RedirectQ_Key"),
    gid(40, "infiniband.classportinfo.trapgid", "TrapGID"),
    hex(56, 8, "infiniband.classportinfo.traptc", "TrapTC"),
    hex(57, 4, "infiniband.classportinfo.trapsl", "TrapSL"),
    hex({57, 4}, 20, "infiniband.classportinfo.trapfl", "TrapFL"),
    hex(60, 16, "infiniband.classportinfo.traplid", "TrapLID"),
    hex(62, 16, "infiniband.classportinfo.trappkey", "TrapP_Key"),
    hex(64, 8, "infiniband.classportinfo.reserved", "Reserved"),
    hex(65, 24, "infiniband.classportinfo.trapqp", "TrapQP"),
    hex(68, 32, "infiniband.classportinfo.trapqkey", "TrapQ_Key"),
};

}  // namespace wire::mad
