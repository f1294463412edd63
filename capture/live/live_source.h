#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/files/file_source.h"
#include "capture/source.h"

namespace capture::inline live {

struct LiveOptions {
    std::string interface = {};                    ///< a name, `any`, or a number of list_devices() from 1 on
    std::uint32_t snaplen = max_snaplen;           ///< `-s`
    bool promiscuous = true;                       ///< `-p` switches it off
    std::uint32_t buffer_kib = 0;                  ///< `-B`; 0 leaves it to libpcap
    std::int32_t timeout_ms = 100;                 ///< how long the kernel may hold frames back, and next() may take
    bool wait = true;                              ///< false: next() answers at once; wait for descriptor()
    bool immediate = false;                        ///< frames come as they arrive, at a cost
    std::optional<wire::LinkType> link_type = {};  ///< `-y`; `any` comes as LINUX_SLL2 without it
    std::string timestamp_type = {};               ///< `-j`, a name of timestamp_types(); empty is the system's default
    std::optional<wire::Direction> direction = {};  ///< `-Q`: inbound or outbound alone
    std::string filter = {};                        ///< pcap-filter(7), run by the kernel
    bool optimise_filter = true;                    ///< `-O` switches it off
};

/// Frames of one interface, by libpcap. Timestamps are in nanoseconds where the interface has them.
class LiveSource final : public Source {
public:
    static base::Result<std::unique_ptr<LiveSource>> open(const LiveOptions& options);
    ~LiveSource() override;

    ReadStatus next(wire::Frame& frame) override;
    const std::vector<InterfaceInfo>& interfaces() const override { return interfaces_; }
    using Source::statistics;
    /// Counted over the life of the source, beyond the 32 bits that libpcap has.
    Statistics statistics(std::size_t interface) const override;
    const base::Error& error() const override { return error_; }

    /// Makes next() return `end`: at once from a signal handler, from another thread within timeout_ms.
    void interrupt();
    /// A problem that did not stop the capture but has to be reported; empty if there is no problem.
    const std::string& warning() const { return warning_; }
    /// Becomes readable when frames are there; -1 where the interface has none.
    int descriptor() const;

private:
    struct Handle;
    LiveSource(std::unique_ptr<Handle> handle, InterfaceInfo info);

    std::unique_ptr<Handle> handle_;
    std::vector<InterfaceInfo> interfaces_ = {};
    std::uint64_t frames_ = 0;
    std::string warning_ = {};
    base::Error error_ = {};
};

struct Device {
    std::string name = {};
    std::string description = {};
    std::vector<std::string> addresses = {};  ///< IPv4 and IPv6, numeric
    bool up = false;
    bool running = false;
    bool loopback = false;
    bool wireless = false;
    enum class Connection : std::uint8_t { unknown, connected, disconnected, not_applicable };
    Connection connection = Connection::unknown;  ///< of a wireless one: associated, not associated
};

/// `-D`, in libpcap's order.
base::Result<std::vector<Device>> list_devices();

struct Choice {
    std::string name = {};
    std::string description = {};
};

/// `-L` and `-J`: what an interface offers, its default first.
base::Result<std::vector<Choice>> link_types(const std::string& interface);
base::Result<std::vector<Choice>> timestamp_types(const std::string& interface);

}  // namespace capture::live
