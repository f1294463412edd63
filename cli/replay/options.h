#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/endpoint/endpoint_address.h"
#include "cli/options/command_options.h"
#include "cli/options/shared.h"
#include "replay/frames/rewrite.h"
#include "replay/impair/impairment_settings.h"

namespace cli::replay {

/// Where the re-enactment runs.
enum class Place : std::uint8_t { nowhere, loopback, serve, to, inject };
/// The captured side that is played byte for byte.
enum class Role : std::uint8_t { initiator, responder };

struct ReplayOptions : options::HelpOptions {
    std::string path = {};                      ///< the capture; "-": standard input
    std::vector<std::uint64_t> flows = {};      ///< ids as `flows` prints them; empty: all
    std::optional<double> speed = 1;            ///< a multiple of the original speed; no value: as fast as possible
    std::uint64_t loop = 1;                     ///< the capture is played this number of times
    std::uint64_t copies = 1;                   ///< copies of each connection that are played at the same time
    std::optional<bool> crc = {};               ///< MPA's CRC; no value: as captured, or on if that is unknown
    std::optional<bool> payload = {};           ///< Sends and Writes with their captured bytes; no value: without
    std::uint64_t timeout_ns = 10'000'000'000;  ///< time without a completion after which the replay fails
    Place place = Place::nowhere;
    endpoint::Address address = {};                   ///< the address of `serve` and of `to`
    std::string interface = {};                       ///< for `inject`
    bool force = false;                               ///< `inject`: also on the interface of the default route
    std::vector<::replay::RewriteRule> rewrite = {};  ///< for `inject`
    std::string ether = {};  ///< inject: addresses for frames without an Ethernet header; validated
    std::optional<Role> as = {};
    bool compare = false;
    std::string save_path = {};  ///< the file that keeps what the comparison captured
    bool json = false;
    ::replay::ImpairmentSettings impairment = {};
    std::optional<std::string> seed_given = {};
};

std::optional<options::UsageError> parse(const std::vector<std::string>& arguments, ReplayOptions& out);
options::OptionTable<ReplayOptions> option_table();
std::string help_text();

}  // namespace cli::replay
