#include "cli/dump/listings.h"

#include <fmt/core.h>

#include "capture/filter/bpf.h"
#include "capture/link_type.h"
#include "capture/live/live_source.h"
#include "cli/selection.h"
#include "dissect/output/listing.h"

namespace cli::dump {

namespace {

using Text = base::Result<std::string>;

/// In tcpdump's words: what an interface is.
std::string state_of(const capture::Device& device) {
    using Connection = capture::Device::Connection;
    const bool on = device.up && device.connection == Connection::connected;
    const bool off = device.up && device.connection == Connection::disconnected;
    std::string words;
    for (const auto& [set, name] : {std::pair{device.up, "Up"},
                                    {device.running, "Running"},
                                    {device.loopback, "Loopback"},
                                    {device.wireless, "Wireless"},
                                    {on, device.wireless ? "Associated" : "Connected"},
                                    {off, device.wireless ? "Not associated" : "Disconnected"}})
        if (set) words += fmt::format("{}{}", words.empty() ? "" : ", ", name);
    return words.empty() ? "none" : words;
}

Text interfaces() {
    const auto devices = capture::list_devices();
    if (!devices) return base::Failure{devices.error()};
    if (devices->empty()) return base::Failure{base::Error{.message = "no interface can be captured on; try as root"}};
    std::string out;
    std::size_t number = 0;
    for (const capture::Device& device : *devices) {
        out += fmt::format("{}.{}", ++number, device.name);
        if (!device.description.empty()) out += fmt::format(" ({})", device.description);
        out += fmt::format(" [{}]\n", state_of(device));
    }
    return out;
}

Text choices(const DumpOptions& options, bool link_types) {
    const std::string& interface = options.interfaces.front();
    const auto offered = link_types ? capture::link_types(interface) : capture::timestamp_types(interface);
    if (!offered) return base::Failure{offered.error()};
    if (offered->empty()) return fmt::format("{} has one clock and does not let it be chosen\n", interface);
    std::string out = fmt::format("{} types for {} (use option {} to set):\n", link_types ? "Data link" : "Time stamp",
                                  interface, link_types ? "-y" : "-j");
    for (const capture::Choice& choice : *offered)
        out += choice.description.empty() ? fmt::format("  {}\n", choice.name)
                                          : fmt::format("  {} ({})\n", choice.name, choice.description);
    return out;
}

/// The link type of the code: of `-y`, of the file, or of the interface; Ethernet if none of them is given.
base::Result<wire::LinkType> link_type(const DumpOptions& options) {
    if (!options.link_type.empty()) {
        const auto named = capture::link_type_named(options.link_type);
        if (named) return *named;
        return base::Failure{
            base::Error{.message = fmt::format("-y {}: there is no such link type", options.link_type)}};
    }
    if (options.read_path) {
        auto file = capture::open_file(*options.read_path);
        if (!file) return base::Failure{file.error()};
        if ((*file)->interfaces().empty()) return wire::LinkType::ethernet;
        return (*file)->interfaces().front().link_type;
    }
    if (options.interfaces.empty()) return wire::LinkType::ethernet;
    if (options.interfaces.front() == "any") return wire::LinkType::linux_sll2;
    const auto offered = capture::link_types(options.interfaces.front());
    if (!offered) return base::Failure{offered.error()};
    if (offered->empty()) return wire::LinkType::ethernet;
    return capture::link_type_named(offered->front().name).value_or(wire::LinkType::ethernet);
}

Text code(const DumpOptions& options) {
    const auto expression = expression_of(options.expression, options.expression_path);
    if (!expression) return base::Failure{expression.error()};
    const auto type = link_type(options);
    if (!type) return base::Failure{type.error()};
    capture::FilterOptions filter_options;
    filter_options.link_type = *type;
    filter_options.snaplen = options.snaplen;
    filter_options.optimise = options.optimize;
    filter_options.of_file = options.read_path.has_value();
    const auto filter = capture::PacketFilter::compile(*expression, filter_options);
    if (!filter) return base::Failure{filter.error()};
    using Listing = capture::PacketFilter::Listing;
    return filter->listing(options.code_form == 1   ? Listing::mnemonics
                           : options.code_form == 2 ? Listing::c_fragment
                                                    : Listing::decimal);
}

}  // namespace

Text listing(const DumpOptions& options, const Environment& environment) {
    switch (options.listing) {
        case Listing::none: break;
        case Listing::help: return help_text();
        case Listing::version: return version_text(environment.version);
        case Listing::interfaces: return interfaces();
        case Listing::link_types: return choices(options, true);
        case Listing::time_stamp_types: return choices(options, false);
        case Listing::code: return code(options);
        case Listing::fields: return dissect::output::list_fields(environment.fields());
    }
    return std::string{};
}

}  // namespace cli::dump
