#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/timestamp.h"
#include "dissect/output/hex.h"

namespace dissect::output {

/// Appends the name of an address of 4 or 16 bytes; false if it has none. May be an empty function.
using HostNames = std::function<bool(std::string&, base::Bytes)>;
/// The same of a LID.
using LidNames = std::function<bool(std::string&, std::uint16_t)>;

/// The form of lines, as tcpdump's options of the same letters choose it.
struct TextOptions {
    base::TimeStyle time_style = base::TimeStyle::time_of_day;
    bool nanoseconds = false;
    bool all = false;                ///< frames without RDMA too
    bool commands_only = false;      ///< lines of upper layers, without those of the packets that carry them
    bool number = false;             ///< -#
    bool link_header = false;        ///< -e
    bool quiet = false;              ///< -q
    bool absolute_sequence = false;  ///< -S
    unsigned verbosity = 0;          ///< -v, -vv, -vvv
    OctetDump octets = OctetDump::none;
    bool octets_of_link = false;  ///< -xx, -XX, -AA
    HostNames host_names = {};
    LidNames lid_names = {};
};

}  // namespace dissect::output
