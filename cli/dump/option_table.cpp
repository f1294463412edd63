#include "cli/dump/option_table.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <fmt/core.h>

namespace cli::dump {

namespace {

using O = Option;
using G = Group;

constexpr std::array table{
    OptionRow{O::interface, 'i', "interface", "IFACE", G::source,
              "capture on IFACE, on `any`, or on the number that -D shows; repeatable"},
    OptionRow{O::read_file, 'r', "read-file", "FILE", G::source,
              "read a pcap or pcapng file, also compressed; `-` is standard input"},
    OptionRow{O::list_interfaces, 'D', "list-interfaces", "", G::source, "list the interfaces and exit"},
    OptionRow{O::list_link_types, 'L', "list-data-link-types", "", G::source,
              "list the link types of the interface and exit"},
    OptionRow{O::list_time_stamp_types, 'J', "list-time-stamp-types", "", G::source,
              "list the clocks of the interface and exit"},
    OptionRow{O::link_type, 'y', "linktype", "TYPE", G::source, "capture with this link type, as -L names it"},
    OptionRow{O::snaplen, 's', "snapshot-length", "OCTETS", G::source,
              "capture at most OCTETS of each frame (default 262144; 0 is the default)"},
    OptionRow{O::buffer_size, 'B', "buffer-size", "KIB", G::source, "the kernel's capture buffer, in KiB"},
    OptionRow{O::time_stamp_type, 'j', "time-stamp-type", "TYPE", G::source, "the clock that stamps, as -J names it"},
    OptionRow{O::no_promiscuous, 'p', "no-promiscuous-mode", "", G::source, "no promiscuous mode"},
    OptionRow{O::direction, 'Q', "direction", "in|out|inout", G::source, "only frames received, or only those sent"},
    OptionRow{O::immediate, 0, "immediate-mode", "", G::source, "hand over every frame as it arrives"},
    OptionRow{O::kernel_events, 0, "kernel-events", "[LIST]", G::source,
              "print the kernel's trace events of RDMA between the packets of -i: groups, or GROUP:EVENT, with commas "
              "between (default: all groups there are)"},

    OptionRow{O::max_packets, 'c', "", "COUNT", G::selection, "stop after COUNT matching packets"},
    OptionRow{O::expression_file, 'F', "", "FILE", G::selection, "take the pcap-filter expression from FILE"},
    OptionRow{O::display_filter, 'Y', "display-filter", "FILTER", G::selection,
              "only packets that match Wireshark's filter language: infiniband.bth.opcode == 17"},
    OptionRow{O::all, 0, "all", "", G::selection, "print packets without RDMA too"},
    OptionRow{O::code, 'd', "", "", G::selection, "print the compiled expression and exit; -dd as C, -ddd as numbers"},
    OptionRow{O::no_optimize, 'O', "no-optimize", "", G::selection, "do not optimise the compiled expression"},

    OptionRow{O::type, 'T', "", "text|fields|json|ek", G::printing, "what to print (default text)"},
    OptionRow{O::field_or_link_header, 'e', "", "[FIELD]", G::printing,
              "with -T fields, json or ek: print this field, repeatable; else a flag: show the link layer's header"},
    OptionRow{
        O::fields_format, 'E', "", "KEY=VALUE", G::printing,
        "of -T fields: header=y|n separator=/t|/s|CHAR occurrence=f|l|a aggregator=,|/s|CHAR quote=d|s|n bom=y|n"},
    OptionRow{O::tree, 'V', "", "", G::printing, "every field of every layer, as a tree"},
    OptionRow{O::verbose, 'v', "", "", G::printing, "more; -vv and -vvv more still"},
    OptionRow{O::quiet, 'q', "", "", G::printing, "less"},
    OptionRow{O::number, '#', "number", "", G::printing, "begin lines with the packet's number"},
    OptionRow{
        O::time_style, 't', "", "", G::printing,
        "no time; -tt seconds since 1970, -ttt since the line before, -tttt with the date, -ttttt since the first"},
    OptionRow{O::precision, 0, "time-stamp-precision", "micro|nano", G::printing, "digits of times (default micro)"},
    OptionRow{O::micro, 0, "micro", "", G::printing, "--time-stamp-precision=micro"},
    OptionRow{O::nano, 0, "nano", "", G::printing, "--time-stamp-precision=nano"},
    OptionRow{O::hex, 'x', "", "", G::printing, "add the octets in hexadecimal; -xx the link layer's too"},
    OptionRow{O::hex_ascii, 'X', "", "", G::printing,
              "add the octets in hexadecimal and ASCII; -XX the link layer's too"},
    OptionRow{O::ascii, 'A', "", "", G::printing, "add the octets in ASCII"},
    OptionRow{O::absolute_sequence, 'S', "absolute-tcp-sequence-numbers", "", G::printing,
              "TCP sequence numbers as they are on the wire"},
    OptionRow{O::no_names, 'n', "", "", G::printing, "addresses as numbers, not as the names that /etc/hosts has"},
    OptionRow{O::no_crc, 'K', "dont-verify-checksums", "", G::printing, "do not verify ICRC, VCRC and MPA CRC"},
    OptionRow{O::color, 0, "color", "auto|never|always", G::printing,
              "colour (default auto: on a terminal, unless NO_COLOR is set)"},
    OptionRow{O::line_buffered, 'l', "", "", G::printing, "hand over every line as it is made"},
    OptionRow{O::count_only, 0, "count", "", G::printing, "print only how many packets matched"},

    OptionRow{O::write_file, 'w', "", "FILE", G::saving,
              "save the packets instead of printing them; `-` is standard output"},
    OptionRow{O::format, 0, "format", "pcap|pcapng", G::saving,
              "of -w (default: pcap for .pcap and .cap, else pcapng)"},
    OptionRow{O::print, 0, "print", "", G::saving, "print as well as save"},
    OptionRow{O::packet_buffered, 'U', "packet-buffered", "", G::saving,
              "hand over every packet as it is saved or printed"},
    OptionRow{O::file_size, 'C', "", "SIZE", G::saving,
              "a new file after SIZE million octets, or KiB, MiB, GiB with k, m, g"},
    OptionRow{O::file_count, 'W', "", "COUNT", G::saving,
              "with -C: overwrite the oldest of COUNT files; with -G: stop after COUNT"},
    OptionRow{O::rotate_or_listing, 'G', "", "SECONDS", G::saving,
              "a new file every SECONDS, named by strftime(3); `-G fields` lists all fields and exits"},
    OptionRow{O::rotate_command, 'z', "", "COMMAND", G::saving, "run COMMAND FILE on every file that is complete"},

    OptionRow{O::user, 'Z', "relinquish-privileges", "USER", G::other, "become USER once the source is open"},
    OptionRow{O::help, 'h', "help", "", G::other, "print this and exit"},
    OptionRow{O::version, 0, "version", "", G::other, "print the version and exit"},
};

constexpr std::string_view heading(Group group) {
    switch (group) {
        case G::source: return "Where packets come from";
        case G::selection: return "Which packets";
        case G::printing: return "What is printed";
        case G::saving: return "What is saved";
        case G::other: return "Other";
    }
    return {};
}

}  // namespace

std::span<const OptionRow> option_table() { return table; }

const OptionRow& row_of(Option id) {
    const auto* row = std::find_if(table.begin(), table.end(), [id](const OptionRow& r) { return r.id == id; });
    assert(row != table.end());
    return *row;
}

OptionText text_of(const OptionRow& row) { return {row.letter, row.long_name, row.argument, row.help}; }

std::string spelling(const OptionRow& row) { return cli::spelling(text_of(row)); }

std::string help_text() {
    std::string out =
        "Usage: rdmascope dump -r FILE [OPTION]... [EXPRESSION]\n"
        "       rdmascope dump -i IFACE [OPTION]... [EXPRESSION]\n\n"
        "Prints, filters, saves and converts RDMA packets. EXPRESSION is a pcap-filter(7) expression.\n";
    for (const Group group : {G::source, G::selection, G::printing, G::saving, G::other}) {
        out += fmt::format("\n{}:\n", heading(group));
        for (const OptionRow& row : table)
            if (row.group == group) append_help(out, text_of(row));
    }
    out +=
        "\nExamples:\n"
        "  rdmascope dump -r rdma.pcapng\n"
        "      one line for every RDMA message unit\n"
        "  rdmascope dump -r rdma.pcapng -Y 'infiniband.aeth.syndrome.opcode == 3' -V\n"
        "      everything in the packets that carry a NAK\n"
        "  rdmascope dump -r rdma.pcapng -T fields -e frame.number -e infiniband.bth.psn\n"
        "      a table for other programs\n"
        "  rdmascope dump -i eth0 -w rdma.pcapng udp port 4791\n"
        "      save RoCEv2, print nothing\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-dump(1), rdmascope-fields(7).\n";
    return out;
}

}  // namespace cli::dump
