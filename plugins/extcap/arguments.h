#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/live/packet_ring.h"

namespace plugins::extcap {

/// What Wireshark wants of us.
enum class Call : std::uint8_t {
    help,
    version,
    interfaces,
    dlts,
    config,
    check_filter,  ///< a capture filter without a capture: is it one?
    capture,
};

/// What an interface is made of; its name for Wireshark is `rdmascope-` and the kernel's name, or one of two that no
/// interface can have, for the colon in them.
enum class Kind : std::uint8_t { live, daemon, recorder };

struct Arguments {
    Call call = Call::help;
    std::string interface = {};  ///< as Wireshark names it
    Kind kind = Kind::live;
    std::string device = {};  ///< of a live one, the kernel's name, or `any`
    std::string reload = {};  ///< the option whose choices alone are asked for
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
inline constexpr std::uint32_t header_octets = 192;  ///< what rdmascope's own daemon keeps, and why: rdmascope.toml(5)

/// Fails with a sentence.
base::Result<Arguments, std::string> parse(const std::vector<std::string>& words);

/// What --fifo says, whatever else is wrong with the words; empty where it says nothing.
std::string fifo_of(const std::vector<std::string>& words);

}  // namespace plugins::extcap
