#include "cli/endpoint/option_table.h"

#include <array>
#include <fmt/core.h>
#include <fstream>
#include <utility>

#include "iwarp/transport/tcp_connection.h"
#include "text/quantities.h"

namespace cli::endpoint {

namespace {

using CommonRow = Row<CommonOptions>;
using G = Group;

/// What is wanted in place of a congestion control that this kernel does not have; empty where it has it, or where only
/// a connection would tell.
std::string wanted_congestion(const std::string& name) {
    if (name.empty() || name.size() > 15) return "a name of at most 15 letters";
    if (iwarp::transport::has_congestion_control(name)) return {};
    std::string names;
    std::getline(std::ifstream("/proc/sys/net/ipv4/tcp_available_congestion_control"), names);
    return fmt::format("a congestion control of this kernel ({}), or whose module can be loaded,", names);
}

constexpr std::array common{
    CommonRow{{0, "crc", "on|off", "ask for the CRC of MPA (default on); it is used if either end asks"},
              G::connection,
              [](CommonOptions& o, const std::string& v) { return text::take_switch(v, o.connection.crc); }},
    CommonRow{{0, "markers", "on|off", "ask for MPA markers in what is received (default off)"},
              G::connection,
              [](CommonOptions& o, const std::string& v) { return text::take_switch(v, o.connection.markers); }},
    CommonRow{{0, "mpa-revision", "1|2", "MPA revision asked for, or at most answered (default 2)"},
              G::connection,
              [](CommonOptions& o, const std::string& v) { return take_number(v, 1, 2, o.connection.revision); }},
    CommonRow{
        {0, "peer-to-peer", "", "the initiator begins with a ready-to-receive message (RFC 6581), revision 2 only"},
        G::connection,
        [](CommonOptions& o, const std::string&) { return o.connection.peer_to_peer = true, std::string{}; }},
    CommonRow{{0, "placement", "strict|direct",
               "data reach memory only after their CRC (strict, the default), or as they come, which is faster"},
              G::connection,
              [](CommonOptions& o, const std::string& v) {
                  o.connection.strict = v == "strict";
                  return std::string(v == "strict" || v == "direct" ? "" : "strict or direct");
              }},
    CommonRow{{0, "align", "", "every FPDU begins a TCP segment"},
              G::connection,
              [](CommonOptions& o, const std::string&) { return o.connection.align = true, std::string{}; }},
    CommonRow{
        {0, "max-ulpdu", "N", "send at most N octets in an FPDU (default: what fits a segment)"},
        G::connection,
        [](CommonOptions& o, const std::string& v) { return take_number(v, 128, 64768, o.connection.max_ulpdu); }},
    CommonRow{{0, "ird", "N", "serve at most N reads and atomics of the peer at once (default 128)"},
              G::connection,
              [](CommonOptions& o, const std::string& v) { return take_number(v, 0, 16383, o.connection.ird); }},
    CommonRow{{0, "ord", "N", "have at most N reads and atomics outstanding (default 128)"},
              G::connection,
              [](CommonOptions& o, const std::string& v) { return take_number(v, 0, 16383, o.connection.ord); }},
    CommonRow{{0, "congestion", "NAME", "TCP's congestion control, such as cubic or reno (default: the system's)"},
              G::connection,
              [](CommonOptions& o, const std::string& v) {
                  o.connection.congestion_control = v;
                  return wanted_congestion(v);
              }},
    CommonRow{{0, "json", "", "one JSON object at the end instead of text"},
              G::printing,
              [](CommonOptions& o, const std::string&) { return o.json = true, std::string{}; }},
    CommonRow{{'h', "help", "", "print this and exit"},
              G::other,
              [](CommonOptions& o, const std::string&) { return o.help = true, std::string{}; }},
    CommonRow{{0, "version", "", "print the version and exit"},
              G::other,
              [](CommonOptions& o, const std::string&) { return o.version = true, std::string{}; }},
};

constexpr std::array headings{
    std::pair<Group, std::string_view>{G::work, "What to do"},
    std::pair<Group, std::string_view>{G::connection, "How connections are made"},
    std::pair<Group, std::string_view>{G::bounds, "Bounds"},
    std::pair<Group, std::string_view>{G::printing, "What is printed"},
    std::pair<Group, std::string_view>{G::other, "Other"},
};

}  // namespace

std::span<const Row<CommonOptions>> common_options() { return common; }

std::string contradiction_of(const iwarp::ConnectionOptions& connection) {
    if (connection.peer_to_peer && connection.revision == 1)
        return "--peer-to-peer is of MPA revision 2: leave it out, or --mpa-revision 1";
    return {};
}

std::string help_page(std::string_view beginning, const GroupedOptions<Group>& options, std::string_view ending) {
    return cli::help_page<Group>(beginning, options, headings, ending);
}

}  // namespace cli::endpoint
