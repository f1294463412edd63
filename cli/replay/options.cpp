#include "cli/replay/options.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/core.h>

#include "base/quantities.h"
#include "cli/options/setters.h"
#include "replay/frames/outgoing.h"

namespace cli::replay {

namespace {

using options::Section;
using O = ReplayOptions;
using Row = options::Option<ReplayOptions>;

std::string choose(O& options, Place place) {
    if (options.place != Place::nowhere && options.place != place)
        return "one of --loopback, --serve, --to and --inject";
    options.place = place;
    return {};
}

template <Place place>
std::string take_address(O& options, const std::string& value) {
    if (std::string expected = choose(options, place); !expected.empty()) return expected;
    return endpoint::take_address(value, place == Place::serve, options.address);
}

std::string take_interface(O& options, const std::string& value) {
    if (value.empty()) return "an interface";
    options.interface = value;
    return choose(options, Place::inject);
}

std::string take_rule(O& options, const std::string& value) {
    const auto rule = ::replay::parse_rewrite(value);
    if (!rule) return rule.error();
    options.rewrite.push_back(*rule);
    return {};
}

std::string take_ether(O& options, const std::string& value) {
    options.ether = value;
    return ::replay::parse_ether(value, {}) ? "" : "an address such as 02:00:00:00:00:01, or two with a comma";
}

bool take_real(const std::string& value, double& into) {
    const char* const end = value.data() + value.size();
    double number = 0;
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stop != end || !std::isfinite(number)) return false;
    into = number;
    return true;
}

std::string take_speed(O& options, const std::string& value) {
    constexpr double least = 1e-6;
    constexpr double most = 1e6;
    if (value == "max") {
        options.speed.reset();
        return {};
    }
    double number = 0;
    if (!take_real(value, number) || number < least || number > most)
        return "max, or a number from 0.000001 to 1000000, such as 0.5 for half as fast,";
    options.speed = number;
    return {};
}

/// "1%" or "0.01".
template <auto Member>
std::string take_share(O& options, const std::string& value) {
    const auto share = base::parse_share(value);
    if (!share) return share.error();
    options.impairment.*Member = *share;
    return {};
}

/// A plain number is milliseconds.
template <auto Member>
std::string take_milliseconds(O& options, const std::string& value) {
    std::uint64_t& ns = options.impairment.*Member;
    double number = 0;
    if (take_real(value, number) && number == 0) {
        ns = 0;
        return {};
    }
    const auto given = base::parse_duration(value, base::BareDuration::milliseconds);
    if (!given) return given.error();
    ns = *given;
    return {};
}

std::string take_flow(O& options, const std::string& value) {
    std::uint64_t id = 0;
    if (!base::take_number(value, 0, std::uint64_t{1} << 62, id).empty())
        return "a flow's id, as `rdmascope flows` prints it,";
    options.flows.push_back(id);
    return {};
}

std::string take_seed(O& options, const std::string& value) {
    options.seed_given = value;
    return base::take_number(value, 0, ~std::uint64_t{0}, options.impairment.seed);
}

constexpr std::array roles{std::pair<std::string_view, Role>{"initiator", Role::initiator},
                           std::pair<std::string_view, Role>{"responder", Role::responder}};
constexpr std::array payloads{std::pair<std::string_view, bool>{"captured", true},
                              std::pair<std::string_view, bool>{"pattern", false}};

using Impairment = ::replay::ImpairmentSettings;

constexpr std::array rows{
    Row{{0, "loopback", {}, "play both ends here, over the loopback interface"},
        Section::place,
        [](O& o, const std::string&) { return choose(o, Place::loopback); }},
    Row{{0, "serve", "ADDR:PORT", "be the accepting end, for one `replay --to` of the same capture"},
        Section::place,
        take_address<Place::serve>},
    Row{{0, "to", "ADDR:PORT", "be the connecting end"}, Section::place, take_address<Place::to>},
    Row{{0, "inject", "IFACE", "send the frames on this interface"}, Section::place, take_interface},
    Row{{0, "as", "initiator|responder",
         "play this side of a captured iWARP connection, byte for byte, to any iWARP peer"},
        Section::place,
        options::choice<roles, &O::as>},
    Row{{0, "force", {}, "--inject: permit an interface with a default route"},
        Section::place,
        options::turn_on<&O::force>},

    Row{{0, "rewrite", "FIELD:OLD=NEW",
         "--inject: replace addresses, and update checksums and ICRC: mac, ip, port, qpn, or one of them with .src "
         "or .dst; OLD may be any; repeatable"},
        Section::place,
        take_rule},
    Row{{0, "ether", "DST[,SRC]",
         "--inject: add an Ethernet header to frames without one (default SRC: the interface's)"},
        Section::place,
        take_ether},

    Row{{'r', "read-file", "FILE", "read this capture, like the argument FILE"},
        Section::reenactment,
        options::store_nonempty<"a file", &O::path>},
    Row{{0, "flow", "ID", "repeat only this flow and its reverse, by the id of `rdmascope flows`; repeatable"},
        Section::reenactment,
        take_flow},
    Row{{0, "speed", "N|max", "play N times as fast as captured, or as fast as possible (default 1)"},
        Section::reenactment,
        take_speed},
    Row{{0, "loop", "N", "play N times in sequence (default 1)"},
        Section::reenactment,
        options::number<1, 1'000'000'000, &O::loop>},
    Row{{0, "copies", "N", "play N copies of every connection at once (default 1)"},
        Section::reenactment,
        options::number<1, 10'000, &O::copies>},
    Row{{0, "crc", "on|off", "use the CRC of MPA (default: as captured, otherwise on)"},
        Section::reenactment,
        options::on_off<&O::crc>},
    Row{{0, "payload", "captured|pattern",
         "choose the content of messages: a pattern (the default), or the captured content of Sends and Writes, if the "
         "capture has all of it"},
        Section::reenactment,
        options::choice<payloads, &O::payload>},
    Row{{0, "timeout", "TIME", "give up after TIME without a completion (default 10s)"},
        Section::reenactment,
        options::duration<&O::timeout_ns>},

    Row{{0, "loss", "P", "lose frames: 1% or 0.01"}, Section::impairment, take_share<&Impairment::loss>},
    Row{{0, "delay", "MS", "delay everything by MS: milliseconds, or a time such as 250us"},
        Section::impairment,
        take_milliseconds<&Impairment::delay_ns>},
    Row{{0, "jitter", "MS", "add a random delay of up to MS"},
        Section::impairment,
        take_milliseconds<&Impairment::jitter_ns>},
    Row{{0, "reorder", "P", "let frames be overtaken"}, Section::impairment, take_share<&Impairment::reorder>},
    Row{{0, "duplicate", "P", "send frames twice"}, Section::impairment, take_share<&Impairment::duplicate>},
    Row{{0, "corrupt", "P", "change a bit"}, Section::impairment, take_share<&Impairment::corrupt>},
    Row{{0, "mark", "P", "mark frames as having met congestion (ECN)"},
        Section::impairment,
        take_share<&Impairment::mark>},
    Row{{0, "rate", "BITS", "limit to BITS per second, as in 100M"},
        Section::impairment,
        options::rate<&O::impairment, &Impairment::bits_per_sec>},
    Row{{0, "seed", "N", "start the random numbers with N (default 1); the same seed gives the same impairments"},
        Section::impairment,
        take_seed},

    Row{{0, "compare", {}, "capture the replay, and compare it with the original"},
        Section::printing,
        options::turn_on<&O::compare>},
    Row{{0, "save", "FILE", "save what --compare captures in FILE"},
        Section::printing,
        options::store_nonempty<"a file", &O::save_path>},
    options::json_at_end<O>,

    options::help<O>,
    options::version<O>,
};

/// One of the words that are not options is the capture.
std::string take_path(const std::vector<std::string>& words, O& out) {
    if (out.path.empty()) {
        if (words.empty()) return "which capture? rdmascope replay FILE --loopback";
        out.path = words.front();
        return words.size() == 1 ? "" : fmt::format("one capture at a time: '{}' is a second one", words[1]);
    }
    return words.empty() ? "" : fmt::format("-r {} and '{}' are given: one capture at a time", out.path, words[0]);
}

/// Impairments that TCP repairs or hides have no effect between endpoints.
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
                "{} is of frames, and between endpoints bytes of TCP pass: use --inject, or --delay, --jitter, --rate "
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
    if (o.as && o.crc) return "--as plays the captured bytes, CRCs and all: no --crc";
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

options::OptionTable<ReplayOptions> option_table() { return options::OptionTable<ReplayOptions>().add(rows); }

std::optional<options::UsageError> parse(const std::vector<std::string>& arguments, ReplayOptions& out) {
    std::vector<std::string> words;
    if (auto error = option_table().parse(arguments, out, words)) return error;
    if (out.help || out.version) return {};
    std::string reason = take_path(words, out);
    return options::usage_error_if(reason.empty() ? contradiction(out) : std::move(reason));
}

std::string help_text() {
    return options::help_page(
        "Usage: rdmascope replay FILE --loopback|--serve ADDR:PORT|--to ADDR:PORT [OPTION]...\n"
        "       rdmascope replay FILE --as initiator|responder --serve ADDR:PORT|--to ADDR:PORT [OPTION]...\n"
        "       rdmascope replay FILE --inject IFACE [OPTION]...\n\n"
        "Makes what a capture shows happen again. Its operations (RoCE's, InfiniBand's or iWARP's) between endpoints "
        "of\n"
        "the software iWARP stack, with the sizes, the order, the dependences and the gaps that they had; or one side "
        "of\n"
        "an iWARP connection, byte for byte; or its frames.\n",
        option_table().options(),
        "\nExamples:\n"
        "  rdmascope replay capture.pcap --loopback --compare\n"
        "      repeat the captured workload on this machine, and compare it with the original\n"
        "  rdmascope replay capture.pcap --serve 192.0.2.1:7175\n"
        "  rdmascope replay capture.pcap --to 192.0.2.1:7175 --speed max --copies 8\n"
        "      between two machines, which both have the capture; eightfold, at full speed\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-replay(1).\n");
}

}  // namespace cli::replay
