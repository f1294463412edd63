#include "replay/frames/rewrite.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <string_view>

#include "replay/frames/checksums.h"

namespace replay::inline frames {
namespace {

using dissect::LayerId;
using F = RewriteField;
using Value = RewriteRule::Value;

struct Name {
    std::string_view name;
    std::array<std::optional<F>, 2> fields;
};
constexpr std::array names{
    Name{"mac", {F::mac_source, F::mac_destination}},
    Name{"mac.src", {F::mac_source}},
    Name{"mac.dst", {F::mac_destination}},
    Name{"ip", {F::ip_source, F::ip_destination}},
    Name{"ip.src", {F::ip_source}},
    Name{"ip.dst", {F::ip_destination}},
    Name{"port", {F::source_port, F::destination_port}},
    Name{"port.src", {F::source_port}},
    Name{"port.dst", {F::destination_port}},
    Name{"qpn", {F::source_qp, F::destination_qp}},
    Name{"qpn.src", {F::source_qp}},
    Name{"qpn.dst", {F::destination_qp}},
};

std::optional<std::uint32_t> number(std::string_view text, std::uint32_t most) {
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    std::uint32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (error != std::errc() || stop != text.data() + text.size() || value > most) return std::nullopt;
    return value;
}

std::optional<Value> mac(std::string_view text) {
    Value value{{}, 6};
    for (unsigned i = 0; i < 6; ++i) {
        const std::string_view part = text.substr(0, text.find(':'));
        unsigned octet = 0;
        const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), octet, 16);
        if (part.empty() || part.size() > 2 || error != std::errc() || stop != part.data() + part.size())
            return std::nullopt;
        value.octets[i] = static_cast<std::byte>(octet);
        if ((i < 5) != (part.size() < text.size())) return std::nullopt;
        text.remove_prefix(std::min(part.size() + 1, text.size()));
    }
    return value;
}

std::optional<Value> address(const std::string& text) {
    Value value{{}, 4};
    if (::inet_pton(AF_INET, text.c_str(), value.octets.data()) == 1) return value;
    value.size = 16;
    if (::inet_pton(AF_INET6, text.c_str(), value.octets.data()) == 1) return value;
    return std::nullopt;
}

std::optional<Value> value_of(F field, const std::string& text) {
    Value value;
    switch (field) {
        case F::mac_source:
        case F::mac_destination: return mac(text);
        case F::ip_source:
        case F::ip_destination: return address(text);
        case F::source_port:
        case F::destination_port: {
            const auto port = number(text, 0xffff);
            if (!port) return std::nullopt;
            value.size = 2;
            base::store_be16(value.octets.data(), static_cast<std::uint16_t>(*port));
            return value;
        }
        case F::source_qp:
        case F::destination_qp: {
            const auto qp = number(text, 0xffffff);
            if (!qp) return std::nullopt;
            value.size = 3;
            base::store_be24(value.octets.data(), *qp);
            return value;
        }
    }
    return std::nullopt;
}

constexpr const char* rule_form =
    "mac, ip, port or qpn (or one of them with .src or .dst), a colon, the old value or `any`, an equals sign and the "
    "new value, as in ip:192.0.2.1=10.0.0.1,";

}  // namespace

base::Result<RewriteRule, std::string> parse_rewrite(const std::string& text) {
    const std::size_t colon = text.find(':');
    const std::size_t equals = text.rfind('=');
    if (colon == std::string::npos || equals == std::string::npos || equals < colon)
        return base::Failure{std::string(rule_form)};
    const auto name = std::find_if(names.begin(), names.end(), [&](const Name& each) {
        return each.name == std::string_view(text).substr(0, colon);
    });
    if (name == names.end()) return base::Failure{std::string(rule_form)};
    const std::string from = text.substr(colon + 1, equals - colon - 1);
    RewriteRule rule{name->fields};
    const auto to = value_of(*name->fields[0], text.substr(equals + 1));
    if (!to) return base::Failure{"in place of '" + text.substr(equals + 1) + "' such a value"};
    rule.to = *to;
    if (from == "any") return rule;
    rule.from = value_of(*name->fields[0], from);
    if (!rule.from) return base::Failure{"in place of '" + from + "' such a value, or any,"};
    if (rule.from->size != rule.to.size) return base::Failure{std::string("two addresses of one kind")};
    return rule;
}

void Rewriter::put(base::MutableBytes frame, RewriteField field, std::uint32_t offset, std::size_t size) {
    if (offset + size > frame.size()) return;
    const base::MutableBytes place = frame.subspan(offset, size);
    for (const RewriteRule& rule : rules_) {
        if (rule.to.size != size || (rule.fields[0] != field && rule.fields[1] != field)) continue;
        if (rule.from && !std::equal(place.begin(), place.end(), rule.from->octets.begin())) continue;
        if (std::equal(place.begin(), place.end(), rule.to.octets.begin())) return;
        std::copy_n(rule.to.octets.begin(), size, place.begin());
        (field == F::mac_source || field == F::mac_destination ? changed_ : covered_changed_) = true;
        return;
    }
}

void Rewriter::apply(base::MutableBytes frame, const dissect::Dissection& dissection) {
    if (rules_.empty()) return;
    before_.assign(frame.begin(), frame.end());
    changed_ = covered_changed_ = false;
    for (unsigned i = 0; i < dissection.own_layer_count(); ++i) {
        const dissect::LayerRef& layer = dissection.layers[i];
        switch (layer.id) {
            case LayerId::ethernet:
                put(frame, F::mac_destination, layer.offset, 6);
                put(frame, F::mac_source, layer.offset + 6, 6);
                break;
            case LayerId::ipv4:
                put(frame, F::ip_source, layer.offset + 12, 4);
                put(frame, F::ip_destination, layer.offset + 16, 4);
                break;
            case LayerId::ipv6:
            case LayerId::grh:
                put(frame, F::ip_source, layer.offset + 8, 16);
                put(frame, F::ip_destination, layer.offset + 24, 16);
                break;
            case LayerId::udp:
            case LayerId::tcp:
                put(frame, F::source_port, layer.offset, 2);
                put(frame, F::destination_port, layer.offset + 2, 2);
                break;
            case LayerId::bth: put(frame, F::destination_qp, layer.offset + 5, 3); break;
            case LayerId::deth: put(frame, F::source_qp, layer.offset + 5, 3); break;
            default: break;
        }
    }
    if (!changed_ && !covered_changed_) return;
    ++counters_.frames;
    if (covered_changed_ && !mend_checksums(before_, frame, dissection)) ++counters_.unfollowed;
}

}  // namespace replay::frames
