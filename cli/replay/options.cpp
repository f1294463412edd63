#include "cli/replay/options.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/core.h>

#include "cli/option_table.h"
#include "replay/frames/outgoing.h"
#include "text/quantities.h"

namespace cli::replay {

namespace {

enum class Group : std::uint8_t { place, work, impairment, printing, other };
using G = Group;
using O = ReplayOptions;
using Row = OptionRow<ReplayOptions, Group>;

std::string choose(O& options, Place place) {
    if (options.place != Place::nowhere && options.place != place)
        return "one of --loopback, --serve, --to and --inject";
    options.place = place;
    return {};
}

bool take_real(const std::string& value, double& into) {
    const char* const end = value.data() + value.size();
    double number = 0;
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stop != end || !std::isfinite(number)) return false;
    into = number;
    return true;
}

std::string take_speed(const std::string& value, std::optional<double>& into) {
    constexpr double least = 1e-6;
    constexpr double most = 1e6;
    double number = 0;
    if (value == "max") return into.reset(), std::string{};
    if (!take_real(value, number) || number < least || number > most)
        return "max, or a number from 0.000001 to 1000000, such as 0.5 for half as fast,";
    into = number;
    return {};
}

std::string take_share(const std::string& value, double& into) {
    const auto share = text::parse_share(value);
    if (!share) return share.error();
    into = *share;
    return {};
}

/// A plain number is milliseconds.
std::string take_milliseconds(const std::string& value, std::uint64_t& into_ns) {
    double number = 0;
    if (take_real(value, number) && number == 0) {
        into_ns = 0;
        return {};
    }
    const auto ns = text::parse_duration(value, text::BareDuration::milliseconds);
    if (!ns) return ns.error();
    into_ns = *ns;
    return {};
}

std::string take_flow(const std::string& value, O& options) {
    std::uint64_t id = 0;
    if (!text::take_number(value, 0, std::uint64_t{1} << 62, id).empty())
        return "a flow's id, as `rdmascope flows` prints it,";
    options.flows.push_back(id);
    return {};
}

std::string take_role(const std::string& value, O& options) {
    if (value == "initiator") return options.as = Role::initiator, std::string{};
    if (value == "responder") return options.as = Role::responder, std::string{};
    return "initiator or responder";
}

std::string take_payload(const std::string& value, O& options) {
    if (value != "captured" && value != "pattern") return "captured or pattern";
    options.payload = value == "captured";
    return {};
}

std::string take_address(const std::string& value, O& options, Place place) {
    if (std::string wanted = choose(options, place); !wanted.empty()) return wanted;
    return endpoint::take_address(value, place == Place::serve, options.address);
}

constexpr std::array rows{
    Row{{0, "loopback", "", "both ends here, over the loopback interface"},
        G::place,
        [](O& o, const std::string&) { return choose(o, Place::loopback); }},
    Row{{0, "serve", "ADDR:PORT", "be the end that accepts; `replay --to` of the same capture is the other"},
        G::place,
        [](O& o, const std::string& v) { return take_address(v, o, Place::serve); }},
    Row{{0, "to", "ADDR:PORT", "be the end that connects"},
        G::place,
        [](O& o, const std::string& v) { return take_address(v, o, Place::to); }},
    Row{{0, "inject", "IFACE", "put the frames themselves on an interface"},
        G::place,
        [](O& o, const std::string& v) {
            o.interface = v;
            return v.empty() ? std::string("an interface") : choose(o, Place::inject);
        }},
    Row{{0, "as", "initiator|responder",
         "play that side of a captured iWARP connection, byte for byte, against whatever speaks iWARP"},
        G::place,
        [](O& o, const std::string& v) { return take_role(v, o); }},
    Row{{0, "force", "", "--inject: also on the interface of the default route"},
        G::place,
        [](O& o, const std::string&) { return o.force = true, std::string{}; }},

    Row{{0, "rewrite", "FIELD:OLD=NEW",
         "--inject: write addresses anew, checksums and ICRC with them: mac, ip, port, qpn, or one of them with .src "
         "or .dst; OLD may be any; may be repeated"},
        G::place,
        [](O& o, const std::string& v) {
            const auto rule = ::replay::parse_rewrite(v);
            if (rule) o.rewrite.push_back(*rule);
            return rule ? std::string{} : rule.error();
        }},
    Row{{0, "ether", "DST[,SRC]",
         "--inject: the addresses of frames that were captured without an Ethernet header (SRC: the interface's)"},
        G::place,
        [](O& o, const std::string& v) {
            o.ether = v;
            return std::string(
                ::replay::parse_ether(v, {}) ? "" : "an address such as 02:00:00:00:00:01, or two with a comma");
        }},

    Row{{'r', "read-file", "FILE", "the capture, as the word that is no option"},
        G::work,
        [](O& o, const std::string& v) {
            o.path = v;
            return std::string(v.empty() ? "a file" : "");
        }},
    Row{{0, "flow", "ID", "only this flow and its reverse, by the id that `rdmascope flows` prints; may be repeated"},
        G::work,
        [](O& o, const std::string& v) { return take_flow(v, o); }},
    Row{{0, "speed", "N|max", "N times as fast as captured, or as fast as it goes (default 1)"},
        G::work,
        [](O& o, const std::string& v) { return take_speed(v, o.speed); }},
    Row{{0, "loop", "N", "N times, one behind the other (default 1)"},
        G::work,
        [](O& o, const std::string& v) { return take_number(v, 1, 1'000'000'000, o.loop); }},
    Row{{0, "copies", "N", "N of every connection at once (default 1)"},
        G::work,
        [](O& o, const std::string& v) { return take_number(v, 1, 10'000, o.copies); }},
    Row{{0, "crc", "on|off", "MPA's CRC (default: as captured; on where that is not known)"},
        G::work,
        [](O& o, const std::string& v) { return text::take_switch(v, o.crc.emplace()); }},
    Row{{0, "payload", "captured|pattern",
         "what messages hold: a pattern (default), or what Sends and Writes held, where the capture has all of it; the "
         "answers to READs are not kept"},
        G::work,
        [](O& o, const std::string& v) { return take_payload(v, o); }},
    Row{{0, "timeout", "TIME", "give up after TIME without a completion (default 10s)"},
        G::work,
        [](O& o, const std::string& v) { return text::take_duration(v, o.timeout_ns); }},

    Row{{0, "loss", "P", "lose frames: 1% or 0.01"},
        G::impairment,
        [](O& o, const std::string& v) { return take_share(v, o.impairment.loss); }},
    Row{{0, "delay", "MS", "hold everything up so long: milliseconds, or a time such as 250us"},
        G::impairment,
        [](O& o, const std::string& v) { return take_milliseconds(v, o.impairment.delay_ns); }},
    Row{{0, "jitter", "MS", "plus a random delay of up to MS"},
        G::impairment,
        [](O& o, const std::string& v) { return take_milliseconds(v, o.impairment.jitter_ns); }},
    Row{{0, "reorder", "P", "let frames be overtaken"},
        G::impairment,
        [](O& o, const std::string& v) { return take_share(v, o.impairment.reorder); }},
    Row{{0, "duplicate", "P", "send frames twice"},
        G::impairment,
        [](O& o, const std::string& v) { return take_share(v, o.impairment.duplicate); }},
    Row{{0, "corrupt", "P", "change a bit"},
        G::impairment,
        [](O& o, const std::string& v) { return take_share(v, o.impairment.corrupt); }},
    Row{{0, "mark", "P", "mark frames as having met congestion (ECN)"},
        G::impairment,
        [](O& o, const std::string& v) { return take_share(v, o.impairment.mark); }},
    Row{{0, "rate", "BITS", "limit to BITS per second, as in 100M"},
        G::impairment,
        [](O& o, const std::string& v) { return text::take_rate(v, o.impairment.bits_per_sec.emplace()); }},
    Row{{0, "seed", "N", "what the draws begin with: the same seed, the same fate (default 1)"},
        G::impairment,
        [](O& o, const std::string& v) {
            o.seed_given = v;
            return take_number(v, 0, ~std::uint64_t{0}, o.impairment.seed);
        }},

    Row{{0, "compare", "", "capture what happens, and print it beside the original, and what differs and why"},
        G::printing,
        [](O& o, const std::string&) { return o.compare = true, std::string{}; }},
    Row{{0, "save", "FILE", "keep what --compare captures"},
        G::printing,
        [](O& o, const std::string& v) {
            o.save_path = v;
            return std::string(v.empty() ? "a file" : "");
        }},
    Row{{0, "json", "", "one JSON object at the end instead of text"},
        G::printing,
        [](O& o, const std::string&) { return o.json = true, std::string{}; }},

    Row{{'h', "help", "", "print this and exit"},
        G::other,
        [](O& o, const std::string&) { return o.help = true, std::string{}; }},
    Row{{0, "version", "", "print the version and exit"},
        G::other,
        [](O& o, const std::string&) { return o.version = true, std::string{}; }},
};

constexpr std::array headings{
    std::pair<Group, std::string_view>{G::place, "Where"},
    std::pair<Group, std::string_view>{G::work, "What is re-enacted, and how"},
    std::pair<Group, std::string_view>{G::impairment, "What is put in its way"},
    std::pair<Group, std::string_view>{G::printing, "What is printed"},
    std::pair<Group, std::string_view>{G::other, "Other"},
};

/// Of the words that are no options, one is the capture.
std::string take_path(const std::vector<std::string>& words, O& out) {
    if (out.path.empty()) {
        if (words.empty()) return "which capture? rdmascope replay FILE --loopback";
        out.path = words.front();
        return words.size() == 1 ? "" : fmt::format("one capture at a time: '{}' is a second one", words[1]);
    }
    return words.empty() ? "" : fmt::format("-r {} and '{}' are given: one capture at a time", out.path, words[0]);
}

/// What an endpoint's TCP repairs, or never shows, has no meaning between endpoints.
std::string contradiction_of_impairments(const O& o) {
    if (o.seed_given && !o.impairment.any()) return "--seed has nothing to draw: say --loss, --delay or another one";
    if (o.place == Place::inject) return {};
    const std::array<std::pair<double, const char*>, 4> of_frames{{{o.impairment.loss, "--loss"},
                                                                   {o.impairment.reorder, "--reorder"},
                                                                   {o.impairment.duplicate, "--duplicate"},
                                                                   {o.impairment.mark, "--mark"}}};
    for (const auto& [share, name] : of_frames)
        if (share > 0)
            return fmt::format(
                "{} is of frames, and between endpoints octets of TCP pass: use --inject, or --delay, --jitter, --rate "
                "and --corrupt",
                name);
    return {};
}

std::string contradiction(const O& o) {
    if (o.place == Place::nowhere)
        return o.as ? "with whom? --as goes with --to ADDR:PORT or --serve ADDR:PORT"
                    : "where? --loopback, --serve ADDR:PORT and --to ADDR:PORT, or --inject IFACE";
    const bool frames = o.place == Place::inject;
    if (o.as && (frames || o.place == Place::loopback))
        return "--as plays one side against another program: --to ADDR:PORT or --serve ADDR:PORT";
    if (frames && o.crc) return "--inject puts frames on the wire as they are: no --crc";
    if ((frames || o.as) && o.copies != 1) return "--copies is of operations between endpoints";
    if ((frames || o.as) && o.compare) return "--compare is of operations between endpoints";
    if (o.as && (o.loop != 1 || !o.speed || *o.speed != 1))
        return "--as plays a connection once, and goes by what the peer says instead of the clock: no --loop, no "
               "--speed";
    if (o.as && o.path == "-") return "--as looks at the capture more than once: a file, not standard input";
    if ((frames || o.as) && o.payload)
        return "--payload is of operations between endpoints: frames, and --as, have what was captured anyway";
    if (o.as && o.crc) return "--as plays the captured octets, CRCs and all: no --crc";
    if (frames && !o.flows.empty())
        return "--inject sends every frame of the capture: `rdmascope dump -r FILE -w PART EXPRESSION` makes one of "
               "some";
    if (!frames && (!o.rewrite.empty() || !o.ether.empty())) return "--rewrite and --ether go with --inject";
    if (o.force && !frames) return "--force goes with --inject";
    if (o.compare && o.loop != 1) return "--compare and --loop are given: one run is compared with the original";
    if (!o.save_path.empty() && !o.compare) return "--save keeps what --compare captures: say --compare, too";
    if (o.path == "-" && o.loop != 1) return "standard input can be read once: --loop goes with a file";
    return contradiction_of_impairments(o);
}

}  // namespace

std::string parse(const std::vector<std::string>& arguments, ReplayOptions& out) {
    std::vector<OptionText> texts;
    texts.reserve(rows.size());
    for (const Row& row : rows) texts.push_back(row.text);
    OptionScanner scanner(texts, arguments);
    for (;;) {
        const OptionScanner::Found found = scanner.next();
        if (!found.error.empty()) return found.error;
        if (found.index < 0) break;
        const Row& row = rows[static_cast<std::size_t>(found.index)];
        if (const std::string wanted = row.apply(out, found.value); !wanted.empty())
            return fmt::format("{} '{}': {} is wanted", spelling(row.text), found.value, wanted);
    }
    if (out.help || out.version) return {};
    const std::string reason = take_path(scanner.words(), out);
    return reason.empty() ? contradiction(out) : reason;
}

std::string help_text() {
    GroupedOptions<Group> all;
    for (const Row& row : rows) all.emplace_back(row.group, row.text);
    return cli::help_page<Group>(
        "Usage: rdmascope replay FILE --loopback|--serve ADDR:PORT|--to ADDR:PORT [OPTION]...\n"
        "       rdmascope replay FILE --as initiator|responder --serve ADDR:PORT|--to ADDR:PORT [OPTION]...\n"
        "       rdmascope replay FILE --inject IFACE [OPTION]...\n\n"
        "Makes what a capture shows happen again. Its operations (RoCE's, InfiniBand's or iWARP's) between endpoints "
        "of\n"
        "the software iWARP stack, with the sizes, the order, the dependences and the gaps that they had; or one side "
        "of\n"
        "an iWARP connection, byte for byte; or its frames.\n",
        all, headings,
        "\nExamples:\n"
        "  rdmascope replay capture.pcap --loopback --compare\n"
        "      the captured workload on this machine, beside what it was\n"
        "  rdmascope replay capture.pcap --serve 192.0.2.1:7175\n"
        "  rdmascope replay capture.pcap --to 192.0.2.1:7175 --speed max --copies 8\n"
        "      between two machines, which both have the capture; eightfold, as fast as it goes\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-replay(1).\n");
}

}  // namespace cli::replay
