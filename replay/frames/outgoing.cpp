#include "replay/frames/outgoing.h"

#include "dissect/dissector.h"
#include "wire/linux_cooked.h"

namespace replay::inline frames {
namespace {

using wire::LinkType;

constexpr std::size_t null_header = 4;

std::uint16_t type_of_ip(base::Bytes packet) {
    if (packet.empty()) return 0;
    const unsigned version = std::to_integer<unsigned>(packet[0]) >> 4;
    return version == 4 ? wire::ether_type::ipv4 : version == 6 ? wire::ether_type::ipv6 : std::uint16_t{0};
}

/// What lies below the packet in a link without Ethernet addresses, and what the packet is.
struct Below {
    std::size_t octets = 0;
    std::uint16_t type = 0;
    bool known = true;  ///< such a link
};

Below below(const wire::Frame& frame) {
    const base::Bytes bytes = frame.bytes;
    switch (frame.link_type) {
        case LinkType::raw:
        case LinkType::ipv4:
        case LinkType::ipv6: return {0, type_of_ip(bytes)};
        case LinkType::null:
        case LinkType::loop:
            // The family's number is in the byte order of its writer: the packet says it better.
            return {null_header,
                    bytes.size() < null_header ? std::uint16_t{0} : type_of_ip(bytes.subspan(null_header))};
        case LinkType::linux_sll: {
            const auto header = wire::parse<wire::LinuxCooked>(bytes);
            return {wire::size_of<wire::LinuxCooked>, header ? header->protocol : std::uint16_t{0}};
        }
        case LinkType::linux_sll2: {
            const auto header = wire::parse<wire::LinuxCooked2>(bytes);
            return {wire::size_of<wire::LinuxCooked2>, header ? header->protocol : std::uint16_t{0}};
        }
        default: return {0, 0, false};
    }
}

}  // namespace

std::string_view words_of(Unfit reason) {
    switch (reason) {
        case Unfit::none: return "sent";
        case Unfit::cut: return "cut short by the capture";
        case Unfit::link: return "of a link that is no Ethernet";
        case Unfit::addresses: return "without an Ethernet header; --ether DST[,SRC] says which to make";
        case Unfit::family: return "without an Ethernet header, and of no EtherType";
        case Unfit::too_short: return "shorter than their link header";
        case Unfit::count_: break;
    }
    return "";
}

std::optional<EtherAddresses> parse_ether(const std::string& text, const wire::MacAddress& own) {
    EtherAddresses addresses{{}, own};
    const std::size_t comma = text.find(',');
    const auto take = [](const std::string& part, wire::MacAddress& into) {
        const auto rule = parse_rewrite("mac:any=" + part);
        if (rule) std::copy_n(rule->to.octets.begin(), into.size(), into.begin());
        return rule.ok();
    };
    if (!take(text.substr(0, comma), addresses.destination)) return std::nullopt;
    if (comma != std::string::npos && !take(text.substr(comma + 1), addresses.source)) return std::nullopt;
    return addresses;
}

Outgoing::Outgoing(Rewriter rewriter, std::optional<EtherAddresses> ether)
    : rewriter_(std::move(rewriter)), ether_(ether) {}

Unfit Outgoing::add_header(const wire::Frame& frame) {
    const Below link = below(frame);
    if (!link.known) return Unfit::link;
    if (frame.bytes.size() <= link.octets) return Unfit::too_short;
    if (link.type < wire::ether_type::first_type) return Unfit::family;
    if (!ether_) return Unfit::addresses;
    const auto header = wire::to_octets(wire::Ethernet{ether_->destination, ether_->source, link.type});
    octets_.assign(header.begin(), header.end());
    octets_.insert(octets_.end(), frame.bytes.begin() + static_cast<std::ptrdiff_t>(link.octets), frame.bytes.end());
    return Unfit::none;
}

Outgoing::Made Outgoing::make(const wire::Frame& frame, const capture::InterfaceInfo& interface) {
    const auto refuse = [this](Unfit why) {
        ++unfit_[static_cast<std::size_t>(why)];
        return Made{why};
    };
    if (frame.bytes.size() < frame.wire_length) return refuse(Unfit::cut);
    if (frame.link_type != LinkType::ethernet) {
        if (const Unfit why = add_header(frame); why != Unfit::none) return refuse(why);
    } else {
        const std::size_t check = interface.fcs_octets.value_or(0);
        if (frame.bytes.size() < wire::size_of<wire::Ethernet> + check) return refuse(Unfit::too_short);
        octets_.assign(frame.bytes.begin(), frame.bytes.end() - static_cast<std::ptrdiff_t>(check));
    }
    wire::Frame sent;
    sent.bytes = octets_;
    sent.wire_length = static_cast<std::uint32_t>(octets_.size());
    dissect::dissect_frame(sent, {.verify_crc = false}, dissection_);
    rewriter_.apply(octets_, dissection_);
    Made made{Unfit::none, octets_, {wire::size_of<wire::Ethernet>, std::nullopt}};
    // Routers see the outermost.
    for (unsigned i = 0; i < dissection_.layer_count && !made.places.network; ++i)
        if (dissection_.layers[i].id == dissect::LayerId::ipv4 || dissection_.layers[i].id == dissect::LayerId::ipv6)
            made.places.network = dissection_.layers[i].offset;
    return made;
}

}  // namespace replay::frames
