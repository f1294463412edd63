#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "base/result.h"
#include "cli/host_names.h"
#include "fabric/node_names.h"

namespace cli {

/// What management datagrams say of the node that has an address.
struct LearntName {
    std::uint64_t guid = 0;             ///< 0: unknown
    std::string_view description = {};  ///< printable
};

/// The names of addresses: those of a file that the user gives, what the capture shows, and hosts(5). The first that
/// has a name counts; a node of a subnet without any name has its GUID's digits.
class AddressNames {
public:
    /// `node_names_path`: names of LIDs and GUIDs; empty: no file. The errors name the lines.
    static base::Result<AddressNames, base::Errors> read(const std::string& node_names_path);

    /// Append a printable name; false if no name is known.
    bool append_lid(std::string& out, std::uint16_t lid, const LearntName& learnt) const;
    bool append_gid(std::string& out, base::Bytes gid, const LearntName& learnt) const;
    /// The name of an IPv4 or IPv6 address.
    bool append_host(std::string& out, base::Bytes address) const { return hosts_.append(out, address); }

private:
    HostNames hosts_ = {};
    fabric::NodeNames nodes_ = {};
};

}  // namespace cli
