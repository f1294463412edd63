#pragma once
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace capture::inline live {

/// An interface of this network namespace.
struct Link {
    std::string name = {};
    int index = 0;  ///< the kernel's; a new interface of an old name has another
};

std::vector<Link> present_links();
bool is_loopback(const std::string& name);
/// As `ip link set NAME up` and `down` have it; a link without a carrier is up, too.
bool is_up(const std::string& name);
/// A bridge, bond, VLAN or the like: what passes it passes the interfaces that it lies on, too.
bool lies_on_others(const std::string& name);

/// Told by the kernel when interfaces come, go or change; without a netlink socket it has to be assumed.
class LinkWatch {
public:
    LinkWatch();

    /// -1 if absent.
    int descriptor() const { return descriptor_.number(); }
    /// Since it was asked last.
    bool changed();

private:
    base::Descriptor descriptor_;
};

}  // namespace capture::live
