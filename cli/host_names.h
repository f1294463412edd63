#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"

namespace cli {

/// The names that hosts(5) gives to addresses. No name server is asked: a printed line must not wait for one, and must
/// not make traffic on the network that is being measured.
class HostNames {
public:
    /// Reads `path`; empty if it cannot be read.
    static HostNames read(const std::string& path = "/etc/hosts");

    /// Appends the name of an address of 4 or 16 bytes; false if it has none.
    bool append(std::string& out, base::Bytes address) const;

    void add_line(std::string_view line);
    bool empty() const { return names_.empty(); }

private:
    std::unordered_map<std::string, std::string> names_ = {};  ///< by the address's bytes
};

}  // namespace cli
