#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "wire/frame.h"

namespace capture {

/// libpcap's DLT_ numbers are the machine's own; LINKTYPE_ numbers, ours, are those of files. Most are the same.
int dlt_of(wire::LinkType type);
wire::LinkType link_type_of(int dlt);

/// libpcap's name without `DLT_`, as `-y` takes it: `EN10MB`; `147` where it has none.
std::string link_type_name(wire::LinkType type);
/// `Ethernet`; empty where libpcap has no description.
std::string link_type_description(wire::LinkType type);
/// From a name, with or without `DLT_`, in either case.
std::optional<wire::LinkType> link_type_named(std::string_view name);

}  // namespace capture
