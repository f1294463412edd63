// Values of keys: from text, and as TOML.
#include <algorithm>
#include <fmt/core.h>

#include "base/quantities.h"
#include "daemon/config/config_table.h"

namespace service::inline config {

namespace {

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    return out += '"';
}

/// As TOML: a string, or a bare number where there is no unit.
std::string measured(const std::string& spelled) {
    return spelled.back() >= '0' && spelled.back() <= '9' ? spelled : in_quotes(spelled);
}
std::string duration_text(std::uint64_t ns) { return ns == 0 ? "0" : in_quotes(base::spell_duration(ns)); }

template <class Range, class Format>
std::string listed(const Range& range, Format&& one) {
    std::string out = "[";
    for (const auto& element : range) {
        if (out.size() > 1) out += ", ";
        out += one(element);
    }
    return out += ']';
}

std::vector<std::string_view> words_of(std::string_view choices) {
    std::vector<std::string_view> words;
    while (!choices.empty()) {
        const std::size_t blank = std::min(choices.find(' '), choices.size());
        words.push_back(choices.substr(0, blank));
        choices.remove_prefix(std::min(blank + 1, choices.size()));
    }
    return words;
}

std::string choices_of(const Key& key) {
    const auto words = words_of(key.wanted);
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i)
        out += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
    return out;
}

/// "10" may be seconds or milliseconds, "100" megabits: a file has to say which.
bool has_unit(const std::string& value) {
    return !value.empty() && !(value.back() >= '0' && value.back() <= '9') && value.back() != '.';
}

bool in_range(const Key& key, std::uint64_t value) { return value >= key.least && value <= key.most; }

std::optional<std::uint64_t> parse_measured(const Key& key, const std::string& value) {
    if (key.or_zero && (value == "0" || (key.kind == Kind::duration && value == "0s"))) return 0;
    switch (key.kind) {
        case Kind::number:
            if (const auto number = base::parse_number(value, key.least, key.most)) return *number;
            return {};
        case Kind::size:
            if (const auto bytes = base::parse_size(value, {.least = key.least, .most = key.most})) return *bytes;
            return {};
        case Kind::duration:
            if (const auto ns = base::parse_duration(value, base::BareDuration::refused); ns && in_range(key, *ns))
                return *ns;
            return {};
        default: return {};
    }
}

/// Sets a key's value from text. False, and the value is left alone, if the text does not fit.
struct Setter {
    const Key& key;
    const std::vector<std::string>& values;

    bool fits(const std::string& value) const { return key.fits == nullptr || key.fits(value); }
    bool single() const { return values.size() == 1; }

    bool operator()(std::string& target) const {
        if (!single()) return false;
        const auto words = words_of(key.wanted);
        const bool good = key.kind == Kind::choice
                              ? std::find(words.begin(), words.end(), values.front()) != words.end()
                              : fits(values.front());
        if (good) target = values.front();
        return good;
    }
    bool operator()(std::vector<std::string>& target) const {
        if (!std::all_of(values.begin(), values.end(), [&](const std::string& each) { return fits(each); }))
            return false;
        target = values;
        return true;
    }
    bool operator()(std::vector<std::uint64_t>& target) const {
        std::vector<std::uint64_t> numbers;
        for (const std::string& value : values) {
            const auto number = base::parse_number(value, key.least, key.most);
            if (!number) return false;
            numbers.push_back(*number);
        }
        target = std::move(numbers);
        return true;
    }
    bool operator()(std::uint64_t& target) const {
        const auto value = single() ? parse_measured(key, values.front()) : std::nullopt;
        if (value) target = *value;
        return value.has_value();
    }
    bool operator()(std::optional<std::uint64_t>& target) const {
        if (!single()) return false;
        if (values.front() == "auto") {
            target.reset();
            return true;
        }
        if (key.kind == Kind::number) {
            const auto number = parse_measured(key, values.front());
            if (number) target = *number;
            return number.has_value();
        }
        if (!has_unit(values.front())) return false;
        const auto rate = base::parse_bit_rate(values.front());
        if (rate) target = *rate;
        return rate.ok();
    }
    bool operator()(bool& target) const {
        if (!single() || (values.front() != "true" && values.front() != "false")) return false;
        target = values.front() == "true";
        return true;
    }
};

struct Formatter {
    const Key& key;

    std::string operator()(const std::string& value) const { return in_quotes(value); }
    std::string operator()(const std::vector<std::string>& value) const { return listed(value, in_quotes); }
    std::string operator()(const std::vector<std::uint64_t>& value) const {
        return listed(value, [](std::uint64_t number) { return std::to_string(number); });
    }
    std::string operator()(std::uint64_t value) const {
        if (key.kind == Kind::duration) return duration_text(value);
        return key.kind == Kind::size ? measured(base::spell_size(value)) : std::to_string(value);
    }
    std::string operator()(const std::optional<std::uint64_t>& value) const {
        if (!value) return "\"auto\"";
        return key.kind == Kind::number ? std::to_string(*value) : in_quotes(base::spell_bit_rate(*value));
    }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
};

}  // namespace

std::string accepted_values(const Key& key) {
    const std::string_view zero = key.or_zero ? ", or 0," : key.or_auto ? ", or \"auto\"," : "";
    switch (key.kind) {
        case Kind::text:
        case Kind::list: return std::string(key.wanted);
        case Kind::choice: return choices_of(key);
        case Kind::numbers: return fmt::format("a list of numbers from {} to {}", key.least, key.most);
        case Kind::number: return fmt::format("a number from {} to {}{}", key.least, key.most, zero);
        case Kind::size:
            return fmt::format("a size from {} to {}{}", measured(base::spell_size(key.least)),
                               measured(base::spell_size(key.most)), zero);
        case Kind::duration:
            return fmt::format("a time from {} to {}{}", duration_text(key.least), duration_text(key.most), zero);
        case Kind::rate: return "a rate in bits per second such as \"100G\", or \"auto\",";
        case Kind::toggle: return "true or false";
    }
    return {};
}

base::Result<void> set(const Key& key, Config& config, TriggerConfig* trigger, const std::vector<std::string>& values) {
    if (!visit_value(key, config, trigger, Setter{key, values})) return base::failure(accepted_values(key));
    return {};
}

std::string format(const Key& key, Config& config, TriggerConfig* trigger) {
    return visit_value(key, config, trigger, Formatter{key});
}

}  // namespace service::config
