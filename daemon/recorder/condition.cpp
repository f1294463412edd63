#include "daemon/recorder/condition.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <optional>

#include "base/ascii.h"
#include "base/quantities.h"
#include "base/similar.h"

namespace service::inline recorder {
namespace {

using exporters::Unit;
using exporters::Value;

struct Operation {
    std::string_view text;
    Comparison comparison;
};
/// The longer ones first, so that `>=` is not read as `>`.
constexpr std::array operations{Operation{">=", Comparison::at_least}, Operation{"<=", Comparison::at_most},
                                Operation{"==", Comparison::same},     Operation{"!=", Comparison::other},
                                Operation{">", Comparison::more},      Operation{"<", Comparison::less}};

bool is_of_path(char c) { return base::is_alphanumeric(c) || c == '_' || c == '.' || c == '-'; }

/// What has not been read yet.
class Rest {
public:
    explicit Rest(std::string_view text) : text_(text) { skip_blanks(); }
    bool empty() const { return text_.empty(); }
    std::string_view text() const { return text_; }

    template <class Wanted>
    std::string_view read_while(Wanted&& wanted) {
        std::size_t length = 0;
        while (length < text_.size() && wanted(text_[length])) ++length;
        return read(length);
    }
    bool read_word(std::string_view word) {
        if (!text_.starts_with(word)) return false;
        read(word.size());
        return true;
    }
    std::string_view read(std::size_t length) {
        const std::string_view part = text_.substr(0, length);
        text_.remove_prefix(length);
        skip_blanks();
        return part;
    }

private:
    void skip_blanks() {
        while (!text_.empty() && base::is_blank(text_.front())) text_.remove_prefix(1);
    }
    std::string_view text_;
};

base::Result<const exporters::FlowField*> find_field(std::string_view path) {
    const exporters::FlowColumns found = exporters::find_fields(path);
    if (found.empty())
        return base::failure(fmt::format("'{}' is no figure of a flow{}; `rdmascope flows --columns help` lists them",
                                         path, base::did_you_mean(path, exporters::field_names())));
    if (found.size() > 1 || found.front()->path != path)
        return base::failure(
            fmt::format("'{}' is a group of figures, name one of them: {}", path, found.front()->path));
    if (found.front()->lists_frames)
        return base::failure(fmt::format("'{}' is a list of frames, and cannot be compared; {}.count can", path,
                                         path.substr(0, path.size() - std::string_view(".frames").size())));
    return found.front();
}

std::optional<double> decimal(std::string_view text) {
    double number = 0;
    const auto [stop, code] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::general);
    if (code != std::errc{} || stop != text.data() + text.size() || !std::isfinite(number)) return {};
    return number;
}

/// A whole number, in hexadecimal where it begins with 0x; else one with decimals.
std::optional<Value> number(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x");
    const std::string_view digits = hexadecimal ? text.substr(2) : text;
    std::uint64_t whole = 0;
    const auto [stop, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), whole, hexadecimal ? 16 : 10);
    if (code == std::errc{} && stop == digits.data() + digits.size()) return Value{whole};
    if (const auto broken = decimal(text); broken && !hexadecimal) return Value{*broken};
    return {};
}

std::optional<Value> duration(const std::string& text) {
    if (text == "0") return Value{std::uint64_t{0}};
    // A plain number is seconds to some, and nanoseconds to those who read JSON.
    const auto ns = base::parse_duration(text, base::BareDuration::refused);
    return ns ? std::optional<Value>(*ns) : std::nullopt;
}

std::optional<Value> size(const std::string& text) {
    const auto bytes = base::parse_size(text);
    return bytes ? std::optional<Value>(*bytes) : std::nullopt;
}

std::optional<Value> bit_rate(const std::string& text) {
    if (text == "0") return Value{std::uint64_t{0}};
    const auto bits = base::parse_bit_rate(text);
    return bits ? std::optional<Value>(*bits) : std::nullopt;
}

std::optional<Value> byte_rate(const std::string& text) {
    // "10G" is 10 GiB to one and 10 Gbit to another.
    const auto rate = base::parse_byte_rate(text, {.binary = true});
    return rate ? std::optional<Value>(*rate) : std::nullopt;
}

std::optional<Value> share(std::string_view text) {
    const auto share = base::parse_share(text, HUGE_VAL);
    return share ? std::optional<Value>(*share) : std::nullopt;
}

struct ParsedFigure {
    std::optional<Value> value;
    std::string_view expected;
};
ParsedFigure parse_figure(const std::string& text, Unit unit) {
    switch (unit) {
        case Unit::text: return {Value{text == "yes" ? "true" : text == "no" ? "false" : text}, "text"};
        case Unit::ns: return {duration(text), "a time with its unit, such as 1.5s, 100ms or 50us,"};
        case Unit::bytes: return {size(text), "a size such as 64, 64KiB or 16MiB"};
        case Unit::bytes_per_sec: return {byte_rate(text), "a rate such as 1000, 500MiB/s, 1GiB/s or 10Gbit/s"};
        case Unit::bits_per_sec: return {bit_rate(text), "a rate such as 10Gbit/s or 800M"};
        case Unit::share: return {share(text), "a share such as 1% or 0.01"};
        case Unit::count:
        case Unit::ratio:
        case Unit::frame:
        case Unit::time:
        case Unit::code: break;
    }
    return {number(text), "a number"};
}

base::Result<std::string> parse_value(Rest& rest) {
    if (!rest.text().starts_with('"')) {
        const std::string_view plain = rest.read_while([](char c) { return !base::is_blank(c); });
        if (plain.find('"') != std::string_view::npos)
            return base::failure(fmt::format("a quotation mark in the middle of {}", plain));
        return std::string(plain);
    }
    const std::size_t end = rest.text().find('"', 1);
    if (end == std::string_view::npos) return base::failure(fmt::format("no closing quotation mark: {}", rest.text()));
    const std::string_view quoted = rest.read(end + 1);
    return std::string(quoted.substr(1, quoted.size() - 2));
}

base::Result<Term> parse_term(Rest& rest) {
    const std::string_view path = rest.read_while(is_of_path);
    if (path.empty())
        return base::failure(fmt::format("a figure's name is expected before '{}', as in: retransmitted_packets > 100",
                                         rest.empty() ? "the end" : rest.text()));
    const auto field = find_field(path);
    if (!field) return base::Failure{field.error()};

    Term term{.field = *field};
    for (const Operation& operation : operations)
        if (term.operation_text.empty() && rest.read_word(operation.text)) {
            term.comparison = operation.comparison;
            term.operation_text = operation.text;
        }
    if (term.operation_text.empty())
        return base::failure(fmt::format("one of > >= < <= == != is expected after '{}'", path));
    const bool orders = term.comparison != Comparison::same && term.comparison != Comparison::other;
    if (term.field->unit == Unit::text && orders)
        return base::failure(
            fmt::format("'{}' is text, which is compared by == and !=, not by {}", path, term.operation_text));

    auto text = parse_value(rest);
    if (!text) return base::Failure{text.error()};
    term.value_text = *text;
    const ParsedFigure figure = parse_figure(term.value_text, term.field->unit);
    if (term.value_text.empty() || !figure.value)
        return base::failure(fmt::format("{} is expected for '{}', not '{}'", figure.expected, path, term.value_text));
    term.value = *figure.value;
    return term;
}

}  // namespace

bool Term::holds(const Value& figure) const {
    if (std::holds_alternative<std::monostate>(figure)) return false;
    int order = 0;
    const bool* const truth = std::get_if<bool>(&figure);
    if (field->unit == Unit::text && truth != nullptr)
        order = exporters::compare(std::string(*truth ? "true" : "false"), value);
    else
        order = exporters::compare(figure, value);
    switch (comparison) {
        case Comparison::more: return order > 0;
        case Comparison::at_least: return order >= 0;
        case Comparison::less: return order < 0;
        case Comparison::at_most: return order <= 0;
        case Comparison::same: return order == 0;
        case Comparison::other: break;
    }
    return order != 0;
}

base::Result<Condition> Condition::parse(std::string_view text) {
    Rest rest(text);
    Condition condition;
    do {
        auto term = parse_term(rest);
        if (!term) return base::Failure{term.error()};
        condition.terms.push_back(std::move(term).value());
        if (rest.empty()) return condition;
        const std::string_view word = rest.read_while([](char c) { return !base::is_blank(c); });
        if (word != "and")
            return base::failure(fmt::format("'and' is expected before the next figure, not '{}'", word));
    } while (true);
}

}  // namespace service::recorder
