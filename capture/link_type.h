#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/frame.h"

namespace capture {

/// libpcap's DLT_ numbers are the machine's own; LINKTYPE_ numbers, which we use, are those of files. Most are the
/// same.
int dlt_of(wire::LinkType type);
wire::LinkType link_type_of(int dlt);
/// The link type of a number in a file: some writers put their own DLT_RAW there.
wire::LinkType link_type_in_file(std::uint16_t number);

/// libpcap's name without `DLT_`, as `-y` accepts it: `EN10MB`; `147` if it has no name.
std::string link_type_name(wire::LinkType type);
/// `Ethernet`; empty if libpcap has no description.
std::string link_type_description(wire::LinkType type);
/// From a name, with or without `DLT_`, in either case.
std::optional<wire::LinkType> link_type_named(std::string_view name);

}  // namespace capture
