#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "metrics/figures/snapshot.h"

namespace metrics::inline measure::inline hosts {

/// Finds hosts of a list by their address, and adds those that are missing; the list ends up in ascending order.
class HostListing {
public:
    explicit HostListing(std::vector<HostSnapshot>& hosts) : hosts_(hosts) {
        sort();
        sorted_ = hosts.size();
    }
    ~HostListing() { sort(); }
    HostListing(const HostListing&) = delete;
    HostListing& operator=(const HostListing&) = delete;

    /// Each address at most once in the life of the listing. Valid until the next call.
    HostSnapshot& at(const Address& address) {
        const auto end = hosts_.begin() + static_cast<std::ptrdiff_t>(sorted_);
        const auto found = std::lower_bound(hosts_.begin(), end, address,
                                            [](const HostSnapshot& h, const Address& a) { return h.address < a; });
        if (found != end && found->address == address) return *found;
        hosts_.emplace_back().address = address;
        return hosts_.back();
    }

private:
    void sort() {
        const auto before = [](const HostSnapshot& a, const HostSnapshot& b) { return a.address < b.address; };
        if (!std::is_sorted(hosts_.begin(), hosts_.end(), before)) std::sort(hosts_.begin(), hosts_.end(), before);
    }
    std::vector<HostSnapshot>& hosts_;
    std::size_t sorted_ = 0;
};

}  // namespace metrics::measure::hosts
