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

/// Takes out of texts what tells whose machine it is: IP addresses, hardware addresses, GUIDs, names of hosts, domains
/// and users. What is the same stays the same: each becomes one placeholder ("ip-3") wherever it stands, so that what
/// belongs together can still be seen. Slots of PCI, times and versions are left alone.
class Mask {
public:
    Mask() = default;
    /// Knows the names that the machine's files have: hostname, hosts(5), resolv.conf(5), passwd(5).
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
    /// How many bytes at `at` are to be replaced, and by what kind; 0 where none.
    std::pair<std::size_t, std::string_view> private_at(std::string_view text, std::size_t at) const;

    std::map<std::string, std::string, std::less<>> words_ = {};  ///< names -> kind
    std::set<std::string, std::less<>> bare_ = {};                ///< hardware addresses without their colons
    std::map<std::string, std::string, std::less<>> given_ = {};  ///< what was replaced -> placeholder
    std::map<std::string, unsigned, std::less<>> counts_ = {};
};

}  // namespace doctor::bundle
