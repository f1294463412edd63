#include "cli/endpoint/option_table.h"

#include <array>
#include <fmt/core.h>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "iwarp/transport/tcp_connection.h"

namespace cli::endpoint {

namespace {

using options::Section;
using Row = options::Option<CommonOptions>;
using iwarp::ConnectionOptions;

/// What the message expects instead of a congestion control that this kernel lacks. Empty if the kernel has it, or if
/// only a connection would show.
std::string wanted_congestion(const std::string& name) {
    if (name.empty() || name.size() > 15) return "a name of at most 15 letters";
    if (iwarp::transport::has_congestion_control(name)) return {};
    const std::string names = base::first_line("/proc/sys/net/ipv4/tcp_available_congestion_control");
    return fmt::format("a congestion control of this kernel ({}), or whose module can be loaded,", names);
}

std::string take_congestion(CommonOptions& options, const std::string& value) {
    options.connection.congestion_control = value;
    return wanted_congestion(value);
}

constexpr std::array placements{std::pair<std::string_view, bool>{"strict", true},
                                std::pair<std::string_view, bool>{"direct", false}};

constexpr std::array common{
    Row{options::mpa_crc, Section::connection, options::on_off<&CommonOptions::connection, &ConnectionOptions::crc>},
    Row{options::mpa_markers, Section::connection,
        options::on_off<&CommonOptions::connection, &ConnectionOptions::markers>},
    Row{options::mpa_revision, Section::connection,
        options::number<1, 2, &CommonOptions::connection, &ConnectionOptions::revision>},
    Row{{0, "peer-to-peer", {}, "the initiator begins with a ready-to-receive message (RFC 6581), revision 2 only"},
        Section::connection,
        options::turn_on<&CommonOptions::connection, &ConnectionOptions::peer_to_peer>},
    Row{{0, "placement", "strict|direct",
         "data reach memory only after their CRC (strict, the default), or as they come, which is faster"},
        Section::connection,
        options::choice<placements, &CommonOptions::connection, &ConnectionOptions::strict>},
    Row{{0, "align", {}, "every FPDU begins a TCP segment"},
        Section::connection,
        options::turn_on<&CommonOptions::connection, &ConnectionOptions::align>},
    Row{{0, "max-ulpdu", "N", "send at most N bytes in an FPDU (default: what fits a segment)"},
        Section::connection,
        options::number<128, 64768, &CommonOptions::connection, &ConnectionOptions::max_ulpdu>},
    Row{{0, "ird", "N", "serve at most N reads and atomics of the peer at once (default 128)"},
        Section::connection,
        options::number<0, 16383, &CommonOptions::connection, &ConnectionOptions::ird>},
    Row{{0, "ord", "N", "have at most N reads and atomics outstanding (default 128)"},
        Section::connection,
        options::number<0, 16383, &CommonOptions::connection, &ConnectionOptions::ord>},
    Row{{0, "congestion", "NAME", "TCP's congestion control, such as cubic or reno (default: the system's)"},
        Section::connection,
        take_congestion},
    options::json_at_end<CommonOptions>,
    options::help<CommonOptions>,
    options::version<CommonOptions>,
};

}  // namespace

std::span<const options::Option<CommonOptions>> common_options() { return common; }

std::string contradiction_of(const iwarp::ConnectionOptions& connection) {
    if (connection.peer_to_peer && connection.revision == 1)
        return "--peer-to-peer is of MPA revision 2: leave it out, or --mpa-revision 1";
    return {};
}

}  // namespace cli::endpoint
