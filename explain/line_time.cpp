#include "explain/line_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
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
    std::string clock(text_of_group(groups, "clock"));
    if (const std::string_view fraction = text_of_group(groups, "fraction"); !fraction.empty())
        clock.append(".").append(fraction);
    return clock;
}

std::optional<std::int64_t> dated(const TimeGroups& groups, std::int64_t /*reference_ns*/) {
    return parse(
        fmt::format("{}T{}{}", text_of_group(groups, "date"), clock_of(groups), text_of_group(groups, "zone")));
}

std::optional<std::int64_t> since_1970(const TimeGroups& groups, std::int64_t /*reference_ns*/) {
    std::string text = fmt::format("@{}", text_of_group(groups, "seconds"));
    if (const std::string_view fraction = text_of_group(groups, "fraction"); !fraction.empty())
        text.append(".").append(fraction);
    return parse(text);
}

int year_of(std::int64_t time_ns) {
    const std::time_t seconds = time_ns / base::ns_per_sec;
    std::tm fields{};
    localtime_r(&seconds, &fields);
    return fields.tm_year + 1900;
}

std::optional<std::int64_t> without_year(const TimeGroups& groups, std::int64_t reference_ns) {
    int month = integer(text_of_group(groups, "month_number"));
    for (std::size_t i = 0; i < months.size(); ++i)
        if (months[i] == text_of_group(groups, "month")) month = static_cast<int>(i) + 1;
    const auto in_year = [&](int year) {
        return parse(
            fmt::format("{:04}-{:02}-{:02}T{}", year, month, integer(text_of_group(groups, "day")), clock_of(groups)));
    };
    if (const std::string_view year = text_of_group(groups, "year"); !year.empty()) return in_year(integer(year));
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

constexpr std::array forms{
    Form{R"((?<date>\d{4}-\d\d-\d\d)[T ])", dated},
    Form{R"((?:^|\s)[IWEF](?<month_number>\d\d)(?<day>\d\d) )", without_year},
    Form{R"((?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?<day>\d{1,2}) )", without_year},
    Form{R"(^\s*\[(?<seconds>\d{10})\.(?<fraction>\d{1,9})\])", since_1970},
    Form{R"(libfabric:\d+:(?<seconds>\d{10}):)", since_1970},
};

struct CompiledForm {
    Regex regex;
    std::optional<std::int64_t> (*read)(const TimeGroups& groups, std::int64_t reference_ns);
};

/// The forms, with the expression of a clock after those that have one.
std::vector<CompiledForm> compile_forms() {
    std::vector<CompiledForm> compiled;
    for (const Form& form : forms) {
        std::string expression = "(?-i)" + std::string(form.expression);
        if (form.read == dated) expression.append(clock_expression).append(R"( ?(?<zone>Z|[+-]\d\d:?\d\d)?)");
        if (form.read == without_year) expression.append(clock_expression).append(R"((?: (?<year>20\d\d)\b)?)");
        if (auto regex = Regex::compile(expression)) compiled.push_back({std::move(*regex), form.read});
    }
    return compiled;
}

}  // namespace

std::optional<std::int64_t> time_of_line(std::string_view line, std::int64_t reference_ns) {
    static const std::vector<CompiledForm> compiled = compile_forms();
    const std::string_view beginning = line.substr(0, searched_bytes);
    for (const CompiledForm& form : compiled) {
        const auto groups = form.regex.find_groups(beginning);
        if (!groups) continue;
        if (const auto time_ns = form.read(*groups, reference_ns)) return time_ns;
    }
    return std::nullopt;
}

}  // namespace explain
