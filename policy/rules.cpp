#include "policy/rules.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fmt/core.h>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <toml++/toml.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/open_file.h"
#include "base/printable.h"
#include "base/similar.h"
#include "exporters/filter/flow_filter.h"
#include "policy/dscp.h"

namespace policy {
namespace {

constexpr std::string_view expected_port = "a port such as 4420, or a range such as \"20000-20099\",";
constexpr std::string_view expected_partition = "a P_Key such as 0x8001";
constexpr std::size_t max_rules_bytes = std::size_t{1} << 20;
constexpr std::uint8_t max_vlan_priority = 7;
constexpr std::uint8_t max_service_level = 15;
constexpr std::array<std::string_view, 9> expectation_keys{"dscp",          "traffic_class",   "vlan_priority",
                                                           "service_level", "partition_key",   "addresses",
                                                           "port_range",    "udp_source_port", "encryption"};
constexpr std::array<std::string_view, 21> rule_keys{
    "name",          "match",         "hosts",         "from",      "to",         "ports",      "service_ids",
    "partitions",    "protocol",      "process",       "container", "dscp",       "addresses",  "vlan_priority",
    "service_level", "partition_key", "traffic_class", "forbidden", "port_range", "encryption", "udp_source_port"};
constexpr std::array<std::string_view, 9> protocol_words{"nvme", "nfs", "iser",    "srp",  "smb",
                                                         "rpc",  "rds", "rsocket", "ipoib"};

class RuleReader {
public:
    explicit RuleReader(std::string path) : path_(std::move(path)) {}

    base::Result<Rules, base::Errors> read(std::string_view text) {
        try {
            read_root(toml::parse(text, std::string_view(path_)));
        } catch (const toml::parse_error& error) {
            add_mistake(error.source().begin, "invalid TOML: " + base::excerpt(error.description()));
        }
        if (!mistakes_.empty()) return base::Failure{errors()};
        return std::move(rules_);
    }

private:
    struct Mistake {
        toml::source_position place;
        std::string text;
    };

    void add_mistake(toml::source_position place, std::string text) { mistakes_.push_back({place, std::move(text)}); }

    /// In the order of the file: toml++ has the keys of a table in the order of their letters.
    base::Errors errors() {
        std::stable_sort(mistakes_.begin(), mistakes_.end(),
                         [](const Mistake& a, const Mistake& b) { return a.place < b.place; });
        base::Errors out;
        out.reserve(mistakes_.size());
        for (const Mistake& mistake : mistakes_)
            out.push_back({.message = mistake.text,
                           .path = fmt::format("{}:{}:{}", path_, mistake.place.line, mistake.place.column)});
        return out;
    }

    void read_root(const toml::table& root) {
        for (const auto& [key, node] : root)
            if (key.str() != "rule" && key.str() != "labels")
                add_mistake(key.source().begin,
                            fmt::format("{}: there is no such key; rules are tables [[rule]], names of addresses are "
                                        "in [labels]",
                                        base::excerpt(key.str())));
        if (const toml::node* const labels = root.get("labels")) read_labels(*labels);
        const toml::node* const rules = root.get("rule");
        const toml::array* const tables = rules == nullptr ? nullptr : rules->as_array();
        if (tables == nullptr || tables->empty() || !tables->is_homogeneous(toml::node_type::table)) {
            if (mistakes_.empty())
                add_mistake(root.source().begin, "no rule is given; write tables [[rule]] with a name and a dscp");
            return;
        }
        if (tables->size() > max_rules) {
            add_mistake(root.source().begin, fmt::format("more than {} rules", max_rules));
            return;
        }
        rules_.reserve(tables->size());
        for (const toml::node& table : *tables) read_rule(*table.as_table());
    }

    void read_labels(const toml::node& node) {
        const toml::table* const table = node.as_table();
        if (table == nullptr) return add_mistake(node.source().begin, "labels: a table is expected");
        for (const auto& [key, value] : *table) {
            const std::string_view name = key.str();
            value_ = &value;
            value_place_ = key.source().begin;
            std::vector<AddressBlock> blocks;
            for_each_text(value, name, "an address, or a list of addresses, in quotes,",
                          [&](const toml::node& each, const std::string& text) {
                              auto block = parse_block(text);
                              if (!block) return refuse(each, name, block.error().message);
                              blocks.push_back(std::move(block).value());
                          });
            labels_.emplace(std::string(name), std::make_shared<const std::vector<AddressBlock>>(std::move(blocks)));
        }
    }

    void read_rule(const toml::table& table) {
        Rule rule;
        for (const auto& [key, node] : table) read_key(key.str(), key.source().begin, node, rule);
        if (!table.contains("name")) add_mistake(table.source().begin, "a rule without a name; give it a name");
        const bool expects =
            std::ranges::any_of(expectation_keys, [&table](std::string_view key) { return table.contains(key); });
        if (expects && rule.forbidden)
            add_mistake(table.source().begin,
                        "a forbidden rule expects nothing; remove forbidden, or dscp and what else is expected");
        // What is of another type was refused already.
        const bool permits = !table.contains("forbidden") || (table["forbidden"].is_boolean() && !rule.forbidden);
        if (!expects && permits)
            add_mistake(table.source().begin,
                        "the rule expects nothing; give it dscp, vlan_priority, service_level, partition_key, "
                        "addresses, port_range, or forbidden = true");
        if (rule.encryption &&
            (rule.expects_class() || rule.expects_ports() || rule.addresses || !rule.selects_nothing()))
            add_mistake(table.source().begin,
                        "encryption: what is encrypted shows neither ends nor a class; write a rule of its own that "
                        "has only a name and encryption");
        const bool same_name = std::ranges::any_of(rules_, [&rule](const Rule& one) { return one.name == rule.name; });
        if (same_name && !rule.name.empty())
            add_mistake(table.source().begin, fmt::format("another rule has the name \"{}\"", rule.name));
        rules_.push_back(std::move(rule));
    }

    /// A value of a list has a place of its own; any other that of its key.
    void refuse(const toml::node& node, std::string_view key, std::string_view expected) {
        const auto place = &node == value_ ? value_place_ : node.source().begin;
        add_mistake(place, fmt::format("{}: {} is expected", base::excerpt(key), expected));
    }

    /// One value, or a list of values.
    template <class Each>
    static bool for_each(const toml::node& node, Each each) {
        const toml::array* const list = node.as_array();
        if (list == nullptr) {
            each(node);
            return true;
        }
        for (const toml::node& one : *list) each(one);
        return !list->empty();
    }
    template <class Each>
    void for_each_text(const toml::node& node, std::string_view key, std::string_view expected, Each each) {
        const bool some = for_each(node, [&](const toml::node& one) {
            const auto* const text = one.as_string();
            if (text == nullptr || text->get().empty()) return refuse(node, key, expected);
            each(one, text->get());
        });
        if (!some) refuse(node, key, expected);
    }
    template <class T, class Read>
    void read_list(const toml::node& node, std::string_view key, std::string_view expected, std::vector<T>& into,
                   Read value_in) {
        const bool some = for_each(node, [&](const toml::node& one) {
            if (const std::optional<T> value = value_in(one))
                into.push_back(*value);
            else
                refuse(one, key, expected);
        });
        if (!some) refuse(node, key, expected);
    }

    void read_key(std::string_view key, toml::source_position place, const toml::node& node, Rule& rule) {
        value_ = &node;
        value_place_ = place;
        const auto expect = [&](std::string_view expected) {
            add_mistake(place, fmt::format("{}: {} is expected", key, expected));
        };
        if (key == "name") {
            const auto* const text = node.as_string();
            if (text == nullptr || text->get().empty()) return expect("a text");
            rule.name = base::excerpt(text->get());
        } else if (key == "match") {
            const auto* const text = node.as_string();
            if (text == nullptr) return expect("an expression of flows --filter, in quotes,");
            rule.match = text->get();
            const auto filter = exporters::filter::FlowFilter::compile(rule.match);
            if (!filter) add_mistake(place, fmt::format("match: {}", filter.error().text()));
        } else if (key == "addresses") {
            const auto* const text = node.as_string();
            const std::string_view kind = text == nullptr ? std::string_view() : std::string_view(text->get());
            if (kind != "ipv4" && kind != "ipv6") return expect("\"ipv4\" or \"ipv6\"");
            rule.addresses = kind == "ipv4" ? AddressKind::ipv4 : AddressKind::ipv6;
        } else if (key == "forbidden") {
            const auto* const truth = node.as_boolean();
            if (truth == nullptr) return expect("true or false");
            rule.forbidden = truth->get();
        } else if (key == "encryption") {
            const auto* const truth = node.as_boolean();
            if (truth == nullptr) return expect("true or false");
            rule.encryption = truth->get();
        } else if (!read_selection(key, node, rule.selection) && !read_class(key, node, rule) &&
                   !read_ports(key, node, rule)) {
            add_mistake(place, fmt::format("{}: there is no such key{}", base::excerpt(key),
                                           base::did_you_mean(key, rule_keys)));
        }
    }

    bool read_selection(std::string_view key, const toml::node& node, Selection& selection) {
        if (key == "hosts") {
            read_blocks(node, key, selection.hosts);
        } else if (key == "from") {
            read_blocks(node, key, selection.from);
        } else if (key == "to") {
            read_blocks(node, key, selection.to);
        } else if (key == "ports") {
            read_list(node, key, expected_port, selection.ports, ports_in);
        } else if (key == "service_ids") {
            read_list(node, key, "a service ID such as 0x1061144, or a range such as \"0x1060000-0x106ffff\",",
                      selection.service_ids, services_in);
        } else if (key == "partitions") {
            read_list(node, key, expected_partition, selection.partitions, partition_in);
        } else if (key == "protocol") {
            read_protocols(node, key, selection.protocols);
        } else if (key == "process" || key == "container") {
            std::vector<std::string>& words = key == "process" ? selection.processes : selection.containers;
            for_each_text(node, key, "a text, or a list of texts,",
                          [&](const toml::node&, const std::string& text) { words.push_back(text); });
        } else {
            return false;
        }
        return true;
    }

    bool read_class(std::string_view key, const toml::node& node, Rule& rule) {
        if (key == "dscp") {
            read_list(node, key, "a number from 0 to 63, or a name such as \"AF31\", \"EF\" or \"CS0\",", rule.dscp,
                      dscp_in);
        } else if (key == "traffic_class") {
            // The ECN bits are not part of the class.
            read_list(node, key, "a number from 0 to 255", rule.dscp, [](const toml::node& one) {
                const auto byte = number_in<std::uint8_t>(one, 255);
                return byte ? std::optional<std::uint8_t>(dscp_of(*byte)) : std::nullopt;
            });
        } else if (key == "vlan_priority") {
            read_list(node, key, "a number from 0 to 7", rule.vlan_priorities,
                      [](const toml::node& one) { return number_in<std::uint8_t>(one, max_vlan_priority); });
        } else if (key == "service_level") {
            read_list(node, key, "a number from 0 to 15", rule.service_levels,
                      [](const toml::node& one) { return number_in<std::uint8_t>(one, max_service_level); });
        } else if (key == "partition_key") {
            read_list(node, key, expected_partition, rule.partition_keys, partition_in);
        } else {
            return false;
        }
        return true;
    }

    bool read_ports(std::string_view key, const toml::node& node, Rule& rule) {
        if (key != "port_range" && key != "udp_source_port") return false;
        read_list(node, key, expected_port, key == "port_range" ? rule.ports : rule.udp_source_ports, ports_in);
        return true;
    }

    void read_blocks(const toml::node& node, std::string_view key, AddressBlocks& into) {
        constexpr std::string_view expected = "an address, a block of addresses or a name of [labels], in quotes,";
        for_each_text(node, key, expected, [&](const toml::node& one, const std::string& text) {
            if (const auto known = labels_.find(text); known != labels_.end()) {
                into.add(known->second);
                return;
            }
            auto block = parse_block(text);
            if (!block) return refuse(one, key, block.error().message + ", or a name of [labels],");
            into.add(*block);
        });
    }

    void read_protocols(const toml::node& node, std::string_view key, std::vector<std::string>& into) {
        for_each_text(node, key, "a protocol such as \"nvme\"", [&](const toml::node& one, const std::string& text) {
            std::string word = base::lowered(text);
            if (std::ranges::find(protocol_words, word) == protocol_words.end())
                add_mistake(one.source().begin, fmt::format("protocol: io recognises no {}{}", base::excerpt(text),
                                                            base::did_you_mean(word, protocol_words)));
            into.push_back(std::move(word));
        });
    }

    template <class T>
    static std::optional<T> number_in(const toml::node& node, std::int64_t most) {
        const auto* const number = node.as_integer();
        if (number == nullptr || number->get() < 0 || number->get() > most) return {};
        return static_cast<T>(number->get());
    }

    static std::optional<std::uint8_t> dscp_in(const toml::node& node) {
        if (const auto* const text = node.as_string()) return dscp_named(text->get());
        return number_in<std::uint8_t>(node, max_dscp);
    }

    static std::optional<std::uint16_t> partition_in(const toml::node& node) {
        return number_in<std::uint16_t>(node, 0xffff);
    }

    static std::optional<PortRange> ports_in(const toml::node& node) {
        const auto range = range_in<std::uint16_t>(node, 0xffff);
        return range && range->first != 0 ? range : std::nullopt;
    }
    static std::optional<ServiceRange> services_in(const toml::node& node) {
        return range_in<std::uint64_t>(node, std::numeric_limits<std::int64_t>::max());
    }

    /// A number, or a text with one number or two. TOML has no number above 2^63 - 1; a text has.
    template <class T>
    static std::optional<NumberRange<T>> range_in(const toml::node& node, std::int64_t most) {
        if (const auto number = number_in<T>(node, most)) return NumberRange<T>{*number, *number};
        const auto* const text = node.as_string();
        if (text == nullptr) return {};
        const std::string_view range = text->get();
        const std::size_t dash = range.find('-');
        const auto first = number_of<T>(range.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : number_of<T>(range.substr(dash + 1));
        if (!first || !last || *first > *last) return {};
        return NumberRange<T>{*first, *last};
    }

    template <class T>
    static std::optional<T> number_of(std::string_view text) {
        const bool is_hexadecimal = text.starts_with("0x");
        if (is_hexadecimal) text.remove_prefix(2);
        T number = 0;
        const auto [stop, code] =
            std::from_chars(text.data(), text.data() + text.size(), number, is_hexadecimal ? 16 : 10);
        if (code != std::errc{} || stop != text.data() + text.size()) return {};
        return number;
    }

    std::string path_;
    Rules rules_ = {};
    std::vector<Mistake> mistakes_ = {};
    const toml::node* value_ = nullptr;  ///< of the key that is read
    toml::source_position value_place_ = {};
    std::map<std::string, AddressBlocks::Label, std::less<>> labels_ = {};
};

base::Failure<base::Errors> one_error(std::string message, const std::string& path) {
    return {base::Errors{{.message = std::move(message), .path = path}}};
}

}  // namespace

base::Result<Rules, base::Errors> parse_rules(std::string_view toml, const std::string& path) {
    return RuleReader(path).read(toml);
}

base::Result<Rules, base::Errors> read_rules(const std::string& path) {
    const auto file = base::open_regular_file(path);
    if (!file) return one_error(file.error().reason, path);
    const auto text = base::read_file(file->number(), max_rules_bytes + 1);
    if (!text) return one_error(std::strerror(errno), path);
    if (text->size() > max_rules_bytes)
        return one_error(fmt::format("more than {} bytes; a file of rules is expected", max_rules_bytes), path);
    return parse_rules(*text, path);
}

}  // namespace policy
