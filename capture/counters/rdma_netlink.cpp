#include "capture/counters/rdma_netlink.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <linux/netlink.h>
#include <optional>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace capture::counters {

using base::Failure;

namespace {

constexpr std::size_t max_answer = 64 * 1024 * 1024;
constexpr std::uint32_t max_number = 0xffffff;

constexpr std::size_t aligned(std::size_t octets) { return (octets + 3) & ~std::size_t{3}; }

template <class T>
T value_at(base::Bytes octets) {  // the caller has checked the size
    T value;
    std::memcpy(&value, octets.data(), sizeof value);
    return value;
}

/// Walks the attributes in `octets`, up to the first that does not fit: netlink(7), struct nlattr.
template <class Visit>
void each_attribute(base::Bytes octets, Visit visit) {
    while (octets.size() >= sizeof(nlattr)) {
        const auto header = value_at<nlattr>(octets);
        if (header.nla_len < sizeof header || header.nla_len > octets.size()) return;
        visit(static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK),
              octets.subspan(sizeof header, header.nla_len - sizeof header));
        octets = octets.subspan(std::min(aligned(header.nla_len), octets.size()));
    }
}

/// Walks the messages of one command and passes on what follows their headers.
template <class Visit>
void each_message(base::Bytes octets, std::uint16_t command, Visit visit) {
    while (octets.size() >= sizeof(nlmsghdr)) {
        const auto header = value_at<nlmsghdr>(octets);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > octets.size()) return;
        if (header.nlmsg_type == RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command))
            visit(octets.subspan(sizeof header, header.nlmsg_len - sizeof header));
        octets = octets.subspan(std::min(aligned(header.nlmsg_len), octets.size()));
    }
}

void take(base::Bytes from, std::uint8_t& into) {
    if (from.size() >= sizeof into) into = value_at<std::uint8_t>(from);
}
void take(base::Bytes from, std::uint32_t& into) {
    if (from.size() >= sizeof into) into = value_at<std::uint32_t>(from);
}
void take(base::Bytes from, std::uint64_t& into) {
    if (from.size() >= sizeof into) into = value_at<std::uint64_t>(from);
}
void take(base::Bytes from, std::string& into) {
    const std::string_view text(reinterpret_cast<const char*>(from.data()), from.size());
    into = text.substr(0, text.find('\0'));
}

/// Numbers of queue pairs in a RES_QP of a set of counters.
void take_queue_pairs(base::Bytes nested, std::vector<std::uint32_t>& into) {
    each_attribute(nested, [&](std::uint16_t type, base::Bytes entry) {
        if (type != RDMA_NLDEV_ATTR_RES_QP_ENTRY) return;
        each_attribute(entry, [&](std::uint16_t inner, base::Bytes value) {
            std::uint32_t number = 0;
            take(value, number);
            if (inner == RDMA_NLDEV_ATTR_RES_LQPN) into.push_back(number & max_number);
        });
    });
}

void take_values(base::Bytes nested, std::vector<std::pair<std::string, std::uint64_t>>& into) {
    each_attribute(nested, [&](std::uint16_t type, base::Bytes entry) {
        if (type != RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY) return;
        std::pair<std::string, std::uint64_t> counter;
        each_attribute(entry, [&](std::uint16_t inner, base::Bytes value) {
            if (inner == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME) take(value, counter.first);
            if (inner == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE) take(value, counter.second);
        });
        if (!counter.first.empty()) into.push_back(std::move(counter));
    });
}

void take_set(std::uint16_t type, base::Bytes value, QueuePairCounters& set) {
    if (type == RDMA_NLDEV_ATTR_DEV_NAME) take(value, set.device);
    if (type == RDMA_NLDEV_ATTR_PORT_INDEX) take(value, set.port);
    if (type == RDMA_NLDEV_ATTR_STAT_COUNTER_ID) take(value, set.identifier);
    if (type == RDMA_NLDEV_ATTR_RES_PID) take(value, set.process);
    if (type == RDMA_NLDEV_ATTR_RES_QP) take_queue_pairs(value, set.queue_pairs);
    if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTERS) take_values(value, set.values);
}

void take_queue_pair(base::Bytes entry, QueuePairResource& pair) {
    each_attribute(entry, [&](std::uint16_t type, base::Bytes value) {
        switch (type) {
            case RDMA_NLDEV_ATTR_PORT_INDEX: take(value, pair.port); break;
            case RDMA_NLDEV_ATTR_RES_LQPN: take(value, pair.number); break;
            case RDMA_NLDEV_ATTR_RES_RQPN: take(value, pair.peer_number); break;
            case RDMA_NLDEV_ATTR_RES_SQ_PSN: take(value, pair.send_psn); break;
            case RDMA_NLDEV_ATTR_RES_RQ_PSN: take(value, pair.receive_psn); break;
            case RDMA_NLDEV_ATTR_RES_TYPE: take(value, pair.type); break;
            case RDMA_NLDEV_ATTR_RES_STATE: take(value, pair.state); break;
            case RDMA_NLDEV_ATTR_RES_PID: take(value, pair.process); break;
            case RDMA_NLDEV_ATTR_RES_KERN_NAME: take(value, pair.kernel_name); break;
            default: break;
        }
    });
}

/// Where a datagram's messages say that the answer is over: 0, or the negative error number.
std::optional<int> verdict(base::Bytes octets, std::uint32_t sequence) {
    while (octets.size() >= sizeof(nlmsghdr)) {
        const auto header = value_at<nlmsghdr>(octets);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > octets.size()) return -EBADMSG;
        if (header.nlmsg_seq == sequence) {
            const base::Bytes body = octets.subspan(sizeof header, header.nlmsg_len - sizeof header);
            if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR)
                return body.size() >= sizeof(int) ? value_at<int>(body) : 0;
            if ((header.nlmsg_flags & NLM_F_MULTI) == 0) return 0;
        }
        octets = octets.subspan(std::min(aligned(header.nlmsg_len), octets.size()));
    }
    return std::nullopt;
}

}  // namespace

std::vector<RdmaDevice> parse_devices(base::Bytes messages) {
    std::vector<RdmaDevice> devices;
    each_message(messages, RDMA_NLDEV_CMD_GET, [&](base::Bytes body) {
        RdmaDevice device;
        each_attribute(body, [&](std::uint16_t type, base::Bytes value) {
            if (type == RDMA_NLDEV_ATTR_DEV_INDEX) take(value, device.index);
            if (type == RDMA_NLDEV_ATTR_DEV_NAME) take(value, device.name);
            if (type == RDMA_NLDEV_ATTR_PORT_INDEX) take(value, device.ports);
            if (type == RDMA_NLDEV_ATTR_FW_VERSION) take(value, device.firmware);
            if (type == RDMA_NLDEV_ATTR_DEV_PROTOCOL) take(value, device.protocol);
        });
        if (!device.name.empty()) devices.push_back(std::move(device));
    });
    return devices;
}

std::vector<RdmaPort> parse_ports(base::Bytes messages) {
    std::vector<RdmaPort> ports;
    each_message(messages, RDMA_NLDEV_CMD_PORT_GET, [&](base::Bytes body) {
        RdmaPort port;
        each_attribute(body, [&](std::uint16_t type, base::Bytes value) {
            if (type == RDMA_NLDEV_ATTR_DEV_INDEX) take(value, port.device_index);
            if (type == RDMA_NLDEV_ATTR_DEV_NAME) take(value, port.device);
            if (type == RDMA_NLDEV_ATTR_PORT_INDEX) take(value, port.port);
            if (type == RDMA_NLDEV_ATTR_PORT_STATE) take(value, port.state);
            if (type == RDMA_NLDEV_ATTR_NDEV_NAME) take(value, port.interface);
        });
        if (port.port != 0) ports.push_back(std::move(port));
    });
    return ports;
}

std::vector<QueuePairResource> parse_queue_pairs(base::Bytes messages) {
    std::vector<QueuePairResource> pairs;
    each_message(messages, RDMA_NLDEV_CMD_RES_QP_GET, [&](base::Bytes body) {
        std::string device;
        each_attribute(body, [&](std::uint16_t type, base::Bytes value) {
            if (type == RDMA_NLDEV_ATTR_DEV_NAME) take(value, device);
        });
        each_attribute(body, [&](std::uint16_t type, base::Bytes nested) {
            if (type != RDMA_NLDEV_ATTR_RES_QP) return;
            each_attribute(nested, [&](std::uint16_t inner, base::Bytes entry) {
                if (inner != RDMA_NLDEV_ATTR_RES_QP_ENTRY) return;
                QueuePairResource pair;
                pair.device = device;
                take_queue_pair(entry, pair);
                pairs.push_back(std::move(pair));
            });
        });
    });
    return pairs;
}

std::vector<QueuePairCounters> parse_counters(base::Bytes messages) {
    std::vector<QueuePairCounters> sets;
    each_message(messages, RDMA_NLDEV_CMD_STAT_GET, [&](base::Bytes body) {
        QueuePairCounters common;  // a port's own counters stand next to the device, a dump's in entries of a table
        std::vector<base::Bytes> entries;
        each_attribute(body, [&](std::uint16_t type, base::Bytes value) {
            if (type == RDMA_NLDEV_ATTR_STAT_COUNTER)
                each_attribute(value, [&](std::uint16_t inner, base::Bytes entry) {
                    if (inner == RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY) entries.push_back(entry);
                });
            else
                take_set(type, value, common);
        });
        if (!common.values.empty()) sets.push_back(common);
        common.values.clear();
        for (const base::Bytes entry : entries) {
            QueuePairCounters set = common;
            each_attribute(entry, [&](std::uint16_t type, base::Bytes value) { take_set(type, value, set); });
            sets.push_back(std::move(set));
        }
    });
    return sets;
}

base::Result<RdmaNetlink> RdmaNetlink::open() {
    base::Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
    if (!socket)
        return Failure{
            base::Error{fmt::format("the kernel's RDMA subsystem cannot be asked: {}; it comes with its modules "
                                    "(modprobe ib_core)",
                                    std::strerror(errno))}};
    const timeval patience{5, 0};
    static_cast<void>(::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience));
    return RdmaNetlink(std::move(socket));
}

base::Result<std::vector<std::byte>> RdmaNetlink::ask(
    std::uint16_t command, bool all, const std::vector<std::pair<std::uint16_t, std::uint32_t>>& attributes,
    std::initializer_list<int> means_none) {
    nlmsghdr header = {};
    header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | (all ? NLM_F_DUMP : 0));
    header.nlmsg_seq = ++sequence_;
    header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + attributes.size() * (sizeof(nlattr) + 4));
    std::vector<std::byte> octets(header.nlmsg_len);
    std::memcpy(octets.data(), &header, sizeof header);
    std::size_t at = sizeof header;
    for (const auto& [type, value] : attributes) {
        const nlattr attribute{sizeof(nlattr) + sizeof value, type};
        std::memcpy(octets.data() + at, &attribute, sizeof attribute);
        std::memcpy(octets.data() + at + sizeof attribute, &value, sizeof value);
        at += sizeof attribute + sizeof value;
    }
    sockaddr_nl kernel = {};
    kernel.nl_family = AF_NETLINK;
    if (::sendto(socket_.number(), octets.data(), octets.size(), 0, reinterpret_cast<sockaddr*>(&kernel),
                 sizeof kernel) < 0)
        return Failure{
            base::Error{fmt::format("the kernel's RDMA subsystem cannot be asked: {}", std::strerror(errno))}};
    std::vector<std::byte> answer;
    std::vector<std::byte> datagram(256 * 1024);
    for (;;) {
        const ssize_t got = ::recv(socket_.number(), datagram.data(), datagram.size(), MSG_TRUNC);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return Failure{
                base::Error{fmt::format("the kernel's RDMA subsystem does not answer: {}", std::strerror(errno))}};
        const auto octets_got = static_cast<std::size_t>(got);
        if (octets_got > datagram.size() || answer.size() + octets_got > max_answer)
            return Failure{base::Error{"the kernel's RDMA subsystem answers more than can be held"}};
        const base::Bytes part = base::Bytes(datagram).first(octets_got);
        // The rest of an answer to an earlier request that was given up.
        if (octets_got >= sizeof(nlmsghdr) && value_at<nlmsghdr>(part).nlmsg_seq != sequence_) continue;
        answer.insert(answer.end(), part.begin(), part.end());
        const auto over = verdict(part, sequence_);
        if (!over) continue;
        if (*over == 0) return answer;
        if (std::find(means_none.begin(), means_none.end(), -*over) != means_none.end())
            return std::vector<std::byte>();
        return Failure{base::Error{fmt::format("the kernel's RDMA subsystem refuses: {}", std::strerror(-*over))}};
    }
}

base::Result<std::vector<RdmaDevice>> RdmaNetlink::devices() {
    const auto answer = ask(RDMA_NLDEV_CMD_GET, true, {});
    if (!answer) return Failure{answer.error()};
    return parse_devices(answer.value());
}

base::Result<std::vector<RdmaPort>> RdmaNetlink::ports(const RdmaDevice& device) {
    const auto answer = ask(RDMA_NLDEV_CMD_PORT_GET, true, {{RDMA_NLDEV_ATTR_DEV_INDEX, device.index}});
    if (!answer) return Failure{answer.error()};
    return parse_ports(answer.value());
}

base::Result<std::vector<QueuePairResource>> RdmaNetlink::queue_pairs(const RdmaDevice& device) {
    const auto answer = ask(RDMA_NLDEV_CMD_RES_QP_GET, true, {{RDMA_NLDEV_ATTR_DEV_INDEX, device.index}});
    if (!answer) return Failure{answer.error()};
    return parse_queue_pairs(answer.value());
}

base::Result<std::vector<QueuePairCounters>> RdmaNetlink::queue_pair_counters(const RdmaDevice& device) {
    const auto answer =
        ask(RDMA_NLDEV_CMD_STAT_GET, true,
            {{RDMA_NLDEV_ATTR_DEV_INDEX, device.index}, {RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP}});
    if (!answer) return Failure{answer.error()};
    return parse_counters(answer.value());
}

base::Result<std::vector<QueuePairCounters>> RdmaNetlink::port_counters(const RdmaDevice& device, std::uint32_t port) {
    // The kernel has no other word for a driver without counters (nldev.c, stat_get_doit_default_counter).
    const auto answer =
        ask(RDMA_NLDEV_CMD_STAT_GET, false,
            {{RDMA_NLDEV_ATTR_DEV_INDEX, device.index}, {RDMA_NLDEV_ATTR_PORT_INDEX, port}}, {EINVAL, EOPNOTSUPP});
    if (!answer) return Failure{answer.error()};
    return parse_counters(answer.value());
}

}  // namespace capture::counters
