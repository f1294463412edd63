#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/live/packet_ring.h"

namespace plugins::extcap {

/// The calls that Wireshark makes.
enum class Call : std::uint8_t {
    help,
    version,
    interfaces,
    dlts,
    config,
    check_filter,  ///< checks a capture filter without a capture
    capture,
};

/// The kinds of interfaces. Wireshark's name of one is `rdmascope-` and the kernel's name, or one of two names with a
/// colon, which no interface can have.
enum class Kind : std::uint8_t { live, daemon, recorder };

struct Arguments {
    Call call = Call::help;
    std::string interface = {};  ///< as Wireshark names it
    Kind kind = Kind::live;
    std::string device = {};  ///< of a live one, the kernel's name, or `any`
    std::string reload = {};  ///< the option whose choices are requested
    std::string fifo = {};
    std::string filter = {};  ///< pcap-filter(7)
    bool headers_only = false;
    std::uint32_t snaplen = 0;  ///< bytes; 0 is whole frames
    std::vector<std::uint16_t> iwarp_ports = {};
    bool promiscuous = true;
    capture::TimestampSource timestamps = capture::TimestampSource::automatic;
    std::string socket = {};
};

inline constexpr const char* live_prefix = "rdmascope-";
inline constexpr const char* daemon_name = "rdmascope:daemon";
inline constexpr const char* recorder_name = "rdmascope:recorder";
inline constexpr std::uint32_t header_octets = 192;  ///< what rdmascope's own daemon keeps; rdmascope.toml(5) has the
                                                     ///< reason

/// Fails with a sentence.
base::Result<Arguments, std::string> parse(const std::vector<std::string>& words);

/// The value of --fifo, even if other words are wrong; empty if absent.
std::string fifo_of(const std::vector<std::string>& words);

}  // namespace plugins::extcap
