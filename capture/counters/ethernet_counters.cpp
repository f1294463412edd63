#include "capture/counters/ethernet_counters.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <tuple>

#include "base/descriptor.h"
#include "base/file.h"
#include "capture/counters/folder_entries.h"

namespace capture::counters {

using base::Failure;

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t max_counters = 65536;

/// A socket of any kind, because the ioctl needs one.
class AnySocket {
public:
    bool ask(const std::string& interface, void* request) const {
        ifreq ask = {};
        std::memcpy(ask.ifr_name, interface.data(), std::min(interface.size(), sizeof ask.ifr_name - 1));
        ask.ifr_data = static_cast<char*>(request);
        return ::ioctl(descriptor_.number(), SIOCETHTOOL, &ask) == 0;
    }

private:
    base::Descriptor descriptor_ = base::Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
};

/// The header of a request, followed by room for the answer.
template <class Header>
struct Request {
    explicit Request(std::size_t behind) : octets((sizeof(Header) + behind + 7) / 8) {}
    Header& header() { return *reinterpret_cast<Header*>(octets.data()); }
    const char* behind() const { return reinterpret_cast<const char*>(octets.data()) + sizeof(Header); }
    std::vector<std::uint64_t> octets;
};

}  // namespace

base::Result<std::vector<EthernetCounter>> read_ethernet_counters(const std::string& interface) {
    if (interface.empty() || interface.size() >= IFNAMSIZ)
        return Failure{base::Error{"is no name of an interface", interface}};
    const AnySocket socket;
    Request<ethtool_sset_info> how_many(sizeof(std::uint32_t));
    how_many.header().cmd = ETHTOOL_GSSET_INFO;
    how_many.header().sset_mask = std::uint64_t{1} << ETH_SS_STATS;
    if (!socket.ask(interface, how_many.octets.data())) {
        if (errno == EOPNOTSUPP || errno == ENOTTY) return std::vector<EthernetCounter>();
        return Failure{base::Error{fmt::format("its counters cannot be read: {}", std::strerror(errno)), interface}};
    }
    std::uint32_t count = 0;
    if (how_many.header().sset_mask != 0) std::memcpy(&count, how_many.behind(), sizeof count);
    count = std::min(count, max_counters);
    if (count == 0) return std::vector<EthernetCounter>();

    Request<ethtool_gstrings> names(std::size_t{count} * ETH_GSTRING_LEN);
    names.header().cmd = ETHTOOL_GSTRINGS;
    names.header().string_set = ETH_SS_STATS;
    names.header().len = count;
    Request<ethtool_stats> values(std::size_t{count} * sizeof(std::uint64_t));
    values.header().cmd = ETHTOOL_GSTATS;
    values.header().n_stats = count;
    if (!socket.ask(interface, names.octets.data()) || !socket.ask(interface, values.octets.data()))
        return Failure{base::Error{fmt::format("its counters cannot be read: {}", std::strerror(errno)), interface}};
    // The kernel says again how many there were: queues can have been added in between.
    count = std::min({count, names.header().len, values.header().n_stats});
    std::vector<EthernetCounter> counters;
    for (std::uint32_t i = 0; i < count; ++i) {
        const char* const name = names.behind() + std::size_t{i} * ETH_GSTRING_LEN;
        EthernetCounter counter{std::string(name, ::strnlen(name, ETH_GSTRING_LEN)), 0};
        std::memcpy(&counter.value, values.behind() + std::size_t{i} * sizeof counter.value, sizeof counter.value);
        counters.push_back(std::move(counter));
    }
    return counters;
}

std::vector<CarryingInterface> carrying_interfaces(const std::string& root) {
    std::vector<CarryingInterface> found;
    for (const fs::path& device : folder_entries(root))
        for (const fs::path& port : folder_entries(device / "ports"))
            for (const fs::path& entry : folder_entries(port / "gid_attrs" / "ndevs")) {
                CarryingInterface carrying{device.filename(), 0, {}};
                const std::string text = port.filename();
                std::from_chars(text.data(), text.data() + text.size(), carrying.port);
                // An entry of the table that holds no address cannot be read: EINVAL.
                carrying.interface = base::first_line(entry);
                if (!carrying.interface.empty()) found.push_back(carrying);
            }
    const auto key = [](const CarryingInterface& each) { return std::tie(each.device, each.port, each.interface); };
    std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

}  // namespace capture::counters
