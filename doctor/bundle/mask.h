#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor/output/json.h"

namespace doctor::inline bundle {

/// Removes from texts what identifies a machine: IP addresses, hardware addresses, GUIDs, names of hosts, domains and
/// users. Each value becomes one placeholder ("ip-3") wherever it stands, so that equal values can still be recognised.
/// Slots of PCI, times and versions stay.
class Mask {
public:
    Mask() = default;
    /// Reads the names in the machine's files: hostname, hosts(5), resolv.conf(5), passwd(5).
    explicit Mask(const Root& root);

    void add_host(std::string_view name);
    void add_user(std::string_view name);
    void add_hardware_address(std::string_view address);

    std::string text(std::string_view text);
    /// Every text in a document; its members' names are of the program, and stay.
    Json json(const Json& document);

private:
    void add_word(std::string_view word, std::string_view kind);
    std::string placeholder(std::string_view kind, std::string_view original);
    /// The number of bytes at `at` to replace, and their kind; 0 if absent.
    std::pair<std::size_t, std::string_view> private_at(std::string_view text, std::size_t at) const;

    std::map<std::string, std::string, std::less<>> words_ = {};  ///< names -> kind
    std::set<std::string, std::less<>> bare_ = {};                ///< hardware addresses without their colons
    std::map<std::string, std::string, std::less<>> given_ = {};  ///< replaced text -> placeholder
    std::map<std::string, unsigned, std::less<>> counts_ = {};
};

}  // namespace doctor::bundle
