#include "plugins/extcap/capture_options.h"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "capture/filter/bpf.h"
#include "capture/live/link_watch.h"
#include "control/client.h"

namespace plugins::extcap {
namespace {

/// Where it was installed together with this program, wherever a package has put both; else where it was built to be.
std::string manual() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto beside = (program.parent_path() / RDMASCOPE_DOCDIR_FROM_HERE / "extcap.md").lexically_normal();
    const bool found = !error && std::filesystem::exists(beside, error);
    return "file://" + (found ? beside.string() : std::string(RDMASCOPE_DOCDIR "/extcap.md"));
}

/// Braces end a value, and nothing can quote them.
std::string value_of(std::string text) {
    std::replace(text.begin(), text.end(), '{', '(');
    std::replace(text.begin(), text.end(), '}', ')');
    return text;
}

/// As a packet ring delivers it: tunnels without a header of their own are IP, all else comes as Ethernet.
wire::LinkType link_type_of(const std::string& device) {
    constexpr int hardware_none = 65534;  // ARPHRD_NONE
    constexpr int hardware_rawip = 519;   // ARPHRD_RAWIP
    std::istringstream file(base::first_line("/sys/class/net/" + device + "/type"));
    int hardware = 0;
    file >> hardware;
    return hardware == hardware_none || hardware == hardware_rawip ? wire::LinkType::raw : wire::LinkType::ethernet;
}

wire::LinkType link_type_of(const Arguments& arguments) {
    return arguments.kind == Kind::live ? link_type_of(arguments.device) : wire::LinkType::ethernet;
}

constexpr const char* timestamp_values =
    "value {arg=3}{value=automatic}{display=The adapter's, where they are kept with the system's clock}{default=true}\n"
    "value {arg=3}{value=hardware}{display=The adapter's}{default=false}\n"
    "value {arg=3}{value=software}{display=The kernel's}{default=false}\n";

std::string live_options() {
    return fmt::format(
               "arg {{number=0}}{{call=--headers-only}}{{display=Headers only}}{{type=boolflag}}{{default=false}}"
               "{{tooltip=Keep the first {} bytes of each frame: all RDMA headers, little of the payload}}\n"
               "arg {{number=1}}{{call=--snaplen}}{{display=Bytes kept of each frame}}{{type=unsigned}}"
               "{{range=0,{}}}{{default=0}}{{tooltip=0 keeps whole frames}}\n",
               header_octets, 262144) +
           "arg {number=2}{call=--promiscuous}{display=Promiscuous}{type=boolean}{default=true}"
           "{tooltip=See frames for others, too, as on a mirror port}\n"
           "arg {number=3}{call=--timestamps}{display=Timestamps}{type=selector}{default=automatic}"
           "{tooltip=Whose clock stamps the frames}\n" +
           std::string(timestamp_values) +
           "arg {number=4}{call=--iwarp-ports}{display=iWARP ports}{type=string}"
           "{validation=^[0-9, ]*$}{placeholder=4420,5001}"
           "{tooltip=TCP ports that carry iWARP, separated by commas; others are found by what they say}\n";
}

std::string socket_option() {
    return fmt::format(
        "arg {{number=0}}{{call=--socket}}{{display=Control socket}}{{type=string}}{{default={}}}{{required=true}}"
        "{{tooltip=The daemon's `control.socket`}}\n",
        control::default_socket);
}

}  // namespace

std::string version_sentence() {
    return fmt::format("extcap {{version={}}}{{help={}}}{{display=rdmascope}}\n", RDMASCOPE_VERSION,
                       value_of(manual()));
}

std::string interface_sentences() {
    std::string all = version_sentence();
    const auto add = [&](const std::string& value, const std::string& display) {
        all += fmt::format("interface {{value={}}}{{display=rdmascope: {}}}\n", value, display);
    };
    for (const capture::Link& link : capture::present_links())
        add(live_prefix + value_of(link.name), value_of(link.name));
    add(std::string(live_prefix) + "any", "any");
    add(daemon_name, "daemon");
    add(recorder_name, "flight recorder");
    return all;
}

std::string dlt_sentences(const Arguments& arguments) {
    return link_type_of(arguments) == wire::LinkType::raw ? "dlt {number=12}{name=RAW}{display=Raw IP}\n"
                                                          : "dlt {number=1}{name=EN10MB}{display=Ethernet}\n";
}

std::string config_sentences(const Arguments& arguments) {
    if (!arguments.reload.empty())
        return arguments.kind == Kind::live && arguments.reload == "timestamps" ? timestamp_values : "";
    return arguments.kind == Kind::live ? live_options() : socket_option();
}

std::string filter_fault(const Arguments& arguments) {
    const auto filter = capture::PacketFilter::compile(arguments.filter, {.link_type = link_type_of(arguments)});
    return filter ? std::string{} : filter.error().text() + "\n";
}

std::string help() {
    return fmt::format(
        "usage: rdmascope-extcap --extcap-interfaces\n"
        "       rdmascope-extcap --extcap-interface IFACE --extcap-dlts | --extcap-config\n"
        "       rdmascope-extcap --extcap-interface IFACE --capture --fifo FILE [OPTION...]\n"
        "\n"
        "Brings RDMA traffic into Wireshark and tshark, which start this program themselves\n"
        "where it lies in one of their extcap folders.\n"
        "\n"
        "  rdmascope-eth0, ...       live: RoCE and iWARP alone, chosen by the kernel\n"
        "    --headers-only          {} bytes of each frame\n"
        "    --snaplen BYTES         the bytes that are kept of each frame (0: all)\n"
        "    --promiscuous BOOLEAN   frames for others, too (true)\n"
        "    --timestamps WHOSE      automatic, hardware or software\n"
        "    --iwarp-ports PORTS     TCP ports that carry iWARP, separated by commas\n"
        "  rdmascope:daemon          what a running daemon captures from now on\n"
        "  rdmascope:recorder        what a running daemon's flight recorder holds\n"
        "    --socket PATH           of the daemon ({})\n"
        "\n"
        "  --extcap-capture-filter EXPRESSION   pcap-filter(7), in place of RDMA alone\n"
        "\n"
        "See rdmascope-extcap(1).\n",
        header_octets, control::default_socket);
}

}  // namespace plugins::extcap
