#include "policy/rules.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <toml++/toml.h>

#include "base/file.h"
#include "base/open_file.h"
#include "base/similar.h"
#include "base/text_format.h"
#include "exporters/filter/flow_filter.h"
#include "policy/dscp.h"

namespace policy {
namespace {

constexpr std::size_t max_rules_bytes = std::size_t{1} << 20;
constexpr std::array<std::string_view, 5> rule_keys{"name", "match", "dscp", "addresses", "forbidden"};

/// Text of the file for a terminal: one line, not too long.
std::string shown(std::string_view text) {
    constexpr std::size_t longest = 60;
    std::string out;
    base::append_printable(out, text.substr(0, longest));
    return text.size() > longest ? out + "..." : out;
}

class RuleReader {
public:
    explicit RuleReader(std::string path) : path_(std::move(path)) {}

    base::Result<Rules, base::Errors> read(std::string_view text) {
        try {
            read_root(toml::parse(text, std::string_view(path_)));
        } catch (const toml::parse_error& error) {
            add_mistake(error.source().begin, "invalid TOML: " + shown(error.description()));
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
            if (key.str() != "rule")
                add_mistake(key.source().begin,
                            fmt::format("{}: there is no such key; rules are tables [[rule]]", shown(key.str())));
        const toml::node* const rules = root.get("rule");
        const toml::array* const tables = rules == nullptr ? nullptr : rules->as_array();
        if (tables == nullptr || tables->empty() || !tables->is_homogeneous(toml::node_type::table)) {
            if (mistakes_.empty())
                add_mistake(root.source().begin, "no rule is given; write tables [[rule]] with a name and a dscp");
            return;
        }
        rules_.reserve(tables->size());
        for (const toml::node& table : *tables) read_rule(*table.as_table());
    }

    void read_rule(const toml::table& table) {
        Rule rule;
        for (const auto& [key, node] : table) read_key(key.str(), key.source().begin, node, rule);
        if (!table.contains("name")) add_mistake(table.source().begin, "a rule without a name; give it a name");
        const bool expects = table.contains("dscp") || table.contains("addresses");
        if (expects && rule.forbidden)
            add_mistake(table.source().begin,
                        "a forbidden rule expects nothing; remove forbidden, or dscp and addresses");
        // What is of another type was refused already.
        const bool permits = !table.contains("forbidden") || (table["forbidden"].is_boolean() && !rule.forbidden);
        if (!expects && permits)
            add_mistake(table.source().begin, "the rule expects nothing; give it dscp, addresses, or forbidden = true");
        rules_.push_back(std::move(rule));
    }

    void read_key(std::string_view key, toml::source_position place, const toml::node& node, Rule& rule) {
        const auto refuse = [&](std::string_view expected) {
            add_mistake(place, fmt::format("{}: {} is expected", key, expected));
        };
        if (key == "name") {
            const auto* const text = node.as_string();
            if (text == nullptr || text->get().empty()) return refuse("a text");
            rule.name = shown(text->get());
        } else if (key == "match") {
            const auto* const text = node.as_string();
            if (text == nullptr) return refuse("an expression of flows --filter, in quotes,");
            rule.match = text->get();
            const auto filter = exporters::filter::FlowFilter::compile(rule.match);
            if (!filter) add_mistake(place, fmt::format("match: {}", filter.error().text()));
        } else if (key == "dscp") {
            rule.dscp = dscp_in(node);
            if (!rule.dscp) refuse("a number from 0 to 63, or a name such as \"AF31\", \"EF\" or \"CS0\",");
        } else if (key == "addresses") {
            const auto* const text = node.as_string();
            const std::string_view kind = text == nullptr ? std::string_view() : std::string_view(text->get());
            if (kind != "ipv4" && kind != "ipv6") return refuse("\"ipv4\" or \"ipv6\"");
            rule.addresses = kind == "ipv4" ? AddressKind::ipv4 : AddressKind::ipv6;
        } else if (key == "forbidden") {
            const auto* const truth = node.as_boolean();
            if (truth == nullptr) return refuse("true or false");
            rule.forbidden = truth->get();
        } else {
            add_mistake(place,
                        fmt::format("{}: there is no such key{}", shown(key), base::did_you_mean(key, rule_keys)));
        }
    }

    static std::optional<std::uint8_t> dscp_in(const toml::node& node) {
        if (const auto* const text = node.as_string()) return dscp_named(text->get());
        const auto* const number = node.as_integer();
        if (number == nullptr || number->get() < 0 || number->get() > max_dscp) return {};
        return static_cast<std::uint8_t>(number->get());
    }

    std::string path_;
    Rules rules_ = {};
    std::vector<Mistake> mistakes_ = {};
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
