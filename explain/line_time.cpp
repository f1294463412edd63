#include "explain/line_time.h"

#include <array>
#include <charconv>
#include <fmt/core.h>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/moment.h"
#include "dissect/filter/regex.h"

namespace explain {

namespace {

using dissect::filter::Regex;
using TimeGroups = std::vector<Regex::Group>;

/// Times stand at the beginning of lines; what follows may hold dates of something else.
constexpr std::size_t searched_bytes = 120;
constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::string_view part_of(const TimeGroups& groups, std::string_view name) {
    for (const Regex::Group& each : groups)
        if (each.name == name) return each.text;
    return {};
}

int integer(std::string_view text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::optional<std::int64_t> parse(const std::string& text) {
    std::int64_t ns = 0;
    if (!base::take_moment(text, 0, ns).empty()) return std::nullopt;
    return ns;
}

/// "10:20:31" and a fraction, which some programs write after a comma.
std::string clock_of(const TimeGroups& groups) {
    std::string clock(part_of(groups, "clock"));
    if (const std::string_view fraction = part_of(groups, "fraction"); !fraction.empty())
        clock.append(".").append(fraction.substr(0, 9));
    return clock;
}

std::optional<std::int64_t> dated(const TimeGroups& groups, std::int64_t /*reference_ns*/) {
    return parse(fmt::format("{}T{}{}", part_of(groups, "date"), clock_of(groups), part_of(groups, "zone")));
}

std::optional<std::int64_t> since_1970(const TimeGroups& groups, std::int64_t /*reference_ns*/) {
    std::int64_t seconds = 0;
    const std::string_view text = part_of(groups, "seconds");
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    std::string fraction(part_of(groups, "fraction").substr(0, 9));
    fraction.resize(9, '0');
    return seconds * base::ns_per_sec + integer(fraction);
}

int year_of(std::int64_t time_ns) {
    const std::time_t seconds = time_ns / base::ns_per_sec;
    std::tm fields{};
    localtime_r(&seconds, &fields);
    return fields.tm_year + 1900;
}

std::optional<std::int64_t> without_year(const TimeGroups& groups, std::int64_t reference_ns) {
    int month = integer(part_of(groups, "month_number"));
    for (std::size_t i = 0; i < months.size(); ++i)
        if (months[i] == part_of(groups, "month")) month = static_cast<int>(i) + 1;
    const auto in_year = [&](int year) {
        return parse(
            fmt::format("{:04}-{:02}-{:02}T{}", year, month, integer(part_of(groups, "day")), clock_of(groups)));
    };
    if (const std::string_view year = part_of(groups, "year"); !year.empty()) return in_year(integer(year));
    std::optional<std::int64_t> nearest;
    const auto distance = [&](std::int64_t time_ns) {
        return std::max(base::elapsed(reference_ns, time_ns), base::elapsed(time_ns, reference_ns));
    };
    for (int year = year_of(reference_ns) - 1; year <= year_of(reference_ns) + 1; ++year)
        if (const auto found = in_year(year); found && (!nearest || distance(*found) < distance(*nearest)))
            nearest = found;
    return nearest;
}

struct Form {
    std::string_view expression;
    std::optional<std::int64_t> (*read)(const TimeGroups& groups, std::int64_t reference_ns);
};

constexpr std::string_view clock_expression = R"((?<clock>\d\d:\d\d:\d\d)(?:[.,](?<fraction>\d{1,9}))?)";

const std::vector<Form>& forms() {
    static const std::vector<Form> all{
        {R"((?<date>\d{4}-\d\d-\d\d)[T ])", dated},
        {R"((?:^|\s)[IWEF](?<month_number>\d\d)(?<day>\d\d) )", without_year},
        {R"((?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?<day>\d{1,2}) )", without_year},
        {R"(^\s*\[(?<seconds>\d{10})\.(?<fraction>\d{1,9})\])", since_1970},
        {R"(libfabric:\d+:(?<seconds>\d{10}):)", since_1970},
    };
    return all;
}

/// The forms with a clock after them, where they have one.
std::vector<Regex> compile_forms() {
    std::vector<Regex> compiled;
    for (const Form& form : forms()) {
        std::string expression = "(?-i)" + std::string(form.expression);
        if (form.read == dated) expression.append(clock_expression).append(R"( ?(?<zone>Z|[+-]\d\d:?\d\d)?)");
        if (form.read == without_year) expression.append(clock_expression).append(R"((?: (?<year>20\d\d)\b)?)");
        if (auto regex = Regex::compile(expression)) compiled.push_back(std::move(*regex));
    }
    return compiled;
}

}  // namespace

std::optional<std::int64_t> time_of_line(std::string_view line, std::int64_t reference_ns) {
    static const std::vector<Regex> compiled = compile_forms();
    const std::string_view beginning = line.substr(0, searched_bytes);
    for (std::size_t i = 0; i < compiled.size(); ++i) {
        const auto groups = compiled[i].find_groups(beginning);
        if (!groups) continue;
        if (const auto time_ns = forms()[i].read(*groups, reference_ns)) return time_ns;
    }
    return std::nullopt;
}

}  // namespace explain
