#include "capture/live/adapter_clock.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/core.h>
#include <limits>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <optional>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/quantities.h"

namespace capture::inline live {
namespace {

constexpr std::int64_t agrees_ns = 20'000;  // what an interrupt costs a stamp of the system
constexpr std::int64_t apart_ns = 1'000'000;

int request(int socket, unsigned long what, const std::string& interface, void* data) {
    ifreq ask = {};
    std::memcpy(ask.ifr_name, interface.data(), std::min(interface.size(), sizeof ask.ifr_name - 1));
    ask.ifr_data = static_cast<char*>(data);
    return ::ioctl(socket, what, &ask);
}

/// How far the adapter's clock is ahead of the system's, by the quickest of a few readings.
std::optional<std::int64_t> ahead_ns(int index) {
    const std::string path = fmt::format("/dev/ptp{}", index);
    const base::Descriptor file(index < 0 ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return std::nullopt;
    const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(file.number()) << 3) | 3);  // clock_gettime(2)
    std::optional<std::int64_t> ahead;
    std::int64_t quickest = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 10; ++i) {
        const std::int64_t before = base::wall_ns();
        const std::int64_t adapter = base::now_ns(clock);
        const std::int64_t took = base::wall_ns() - before;
        if (adapter == 0 || took < 0 || took >= quickest) continue;
        quickest = took;
        ahead = adapter - before - took / 2;
    }
    return ahead;
}

base::Failure<base::Error> no_clock(std::string reason) {
    return base::Failure{base::Error{.message = std::move(reason)}};
}

}  // namespace

base::Result<AdapterClock> use_adapter_clock(int socket, const std::string& interface, bool insist) {
    ethtool_ts_info offers = {};
    offers.cmd = ETHTOOL_GET_TS_INFO;
    constexpr unsigned needed = SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
    if (request(socket, SIOCETHTOOL, interface, &offers) != 0 || (offers.so_timestamping & needed) != needed)
        return no_clock("the interface offers no hardware timestamps");
    if ((offers.rx_filters & (1U << HWTSTAMP_FILTER_ALL)) == 0)
        return no_clock("the interface stamps only packets of the Precision Time Protocol");

    const auto ahead = ahead_ns(offers.phc_index);
    if (!insist && (!ahead || std::abs(*ahead) > agrees_ns))
        return no_clock(ahead ? fmt::format("the adapter's clock is {} off the system's", base::format_duration(*ahead))
                              : "the adapter's clock cannot be read");

    hwtstamp_config config = {};
    if (request(socket, SIOCGHWTSTAMP, interface, &config) != 0) config = {};  // keeps what leaves as it was
    if (config.rx_filter != HWTSTAMP_FILTER_ALL) {
        config.rx_filter = HWTSTAMP_FILTER_ALL;
        if (request(socket, SIOCSHWTSTAMP, interface, &config) != 0)
            return no_clock(fmt::format("the interface cannot be set to stamp frames: {}", std::strerror(errno)));
    }
    const int source = SOF_TIMESTAMPING_RAW_HARDWARE;
    if (::setsockopt(socket, SOL_PACKET, PACKET_TIMESTAMP, &source, sizeof source) != 0)
        return no_clock(fmt::format("the kernel does not pass hardware timestamps: {}", std::strerror(errno)));
    AdapterClock clock;
    if (!ahead)
        clock.warning = "the adapter's clock cannot be compared with the system's, which stamps frames that leave";
    else if (std::abs(*ahead) > apart_ns)
        clock.warning = fmt::format(
            "the adapter's clock is {} off the system's, which stamps frames that leave: latencies are wrong until "
            "both are kept together, as phc2sys does",
            base::format_duration(*ahead));
    return clock;
}

}  // namespace capture::live
