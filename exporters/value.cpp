#include "exporters/value.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace exporters {

namespace {

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

template <class Number>
void append_number(std::string& out, Number number) {
    const fmt::format_int text(number);
    out.append(text.data(), text.size());
}

void append_double(std::string& out, double number) { fmt::format_to(std::back_inserter(out), "{}", number); }

bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void append_quoted(std::string& out, const std::string& text) {
    if (std::all_of(text.begin(), text.end(), is_plain)) {
        out.append(1, '"').append(text).append(1, '"');
        return;
    }
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_frames(std::string& out, const Frames& frames, char separator) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (i > 0) out += separator;
        append_number(out, frames[i]);
    }
}

double number_of(const Value& value) {
    return std::visit(Overloaded{[](bool truth) { return truth ? 1.0 : 0.0; },
                                 [](std::uint64_t number) { return static_cast<double>(number); },
                                 [](std::int64_t number) { return static_cast<double>(number); },
                                 [](double number) { return number; }, [](const auto&) { return 0.0; }},
                      value);
}

std::string clock_time(std::int64_t time_ns) {
    const std::int64_t second = 1'000'000'000;
    std::int64_t seconds = time_ns / second;
    std::int64_t rest = time_ns % second;
    if (rest < 0) {
        rest += second;
        --seconds;
    }
    return fmt::format("{}.{:09}", seconds, rest);
}

enum class Rank { nothing, number, text, list };
Rank rank_of(const Value& value) {
    return std::visit(
        Overloaded{[](std::monostate) { return Rank::nothing; }, [](const std::string&) { return Rank::text; },
                   [](const Frames&) { return Rank::list; }, [](const auto&) { return Rank::number; }},
        value);
}
template <class T>
int order(const T& a, const T& b) {
    return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

std::string_view name_of(Unit unit) {
    constexpr std::array<std::string_view, 11> names{"",      "count", "ns",    "bytes",         "bytes/s", "bits/s",
                                                     "share", "ratio", "frame", "ns since 1970", "number"};
    return names[static_cast<std::size_t>(unit)];
}

void append_json(std::string& out, const Value& value) {
    std::visit(Overloaded{[&](std::monostate) { out += "null"; }, [&](bool truth) { out += truth ? "true" : "false"; },
                          [&](std::uint64_t number) { append_number(out, number); },
                          [&](std::int64_t number) { append_number(out, number); },
                          [&](double number) {
                              if (std::isfinite(number))
                                  append_double(out, number);
                              else
                                  out += "null";
                          },
                          [&](const std::string& text) { append_quoted(out, text); },
                          [&](const Frames& frames) {
                              out += '[';
                              append_frames(out, frames, ',');
                              out += ']';
                          }},
               value);
}

void append_csv(std::string& out, const Value& value) {
    std::visit(Overloaded{[](std::monostate) {}, [&](bool truth) { out += truth ? "true" : "false"; },
                          [&](std::uint64_t number) { append_number(out, number); },
                          [&](std::int64_t number) { append_number(out, number); },
                          [&](double number) {
                              if (std::isfinite(number)) append_double(out, number);
                          },
                          [&](const std::string& text) {
                              if (text.find_first_of(",\"\r\n") == std::string::npos) {
                                  out += text;
                                  return;
                              }
                              out += '"';
                              for (const char c : text) out.append(c == '"' ? 2 : 1, c);
                              out += '"';
                          },
                          [&](const Frames& frames) { append_frames(out, frames, ' '); }},
               value);
}

std::string iso_time(std::int64_t time_ns) {
    using namespace std::chrono;
    // By whole seconds: the midnight before the least time is no number of ns.
    const sys_seconds second = floor<seconds>(sys_time<nanoseconds>{nanoseconds{time_ns}});
    constexpr std::int64_t per_second = 1'000'000'000;
    const std::int64_t rest = (time_ns % per_second + per_second) % per_second;
    const auto day = floor<days>(second);
    const year_month_day date{day};
    const hh_mm_ss clock{second - day};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(), rest);
}

std::string seconds_text(std::int64_t ns) {
    constexpr std::uint64_t second = 1'000'000'000;
    const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    return fmt::format("{}{}.{:09}", ns < 0 ? "-" : "", size / second, size % second);
}

std::string readable(const Value& value, Unit unit, base::Style style) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "yes" : "no";
    std::string out;
    if (const auto* frames = std::get_if<Frames>(&value)) append_frames(out, *frames, ' ');
    if (std::holds_alternative<std::monostate>(value)) out.push_back('-');
    if (!out.empty()) return out;
    switch (unit) {
        case Unit::ns: return base::format_duration(number_of(value), style);
        case Unit::bytes: return base::format_size(number_of(value), style);
        case Unit::bytes_per_sec: return base::format_byte_rate(number_of(value), style);
        case Unit::bits_per_sec: return base::format_bit_rate(number_of(value), style);
        case Unit::share: return base::format_percent(number_of(value), style);
        case Unit::ratio: return base::format_decimal(number_of(value));
        case Unit::time:
            if (const auto* time_ns = std::get_if<std::int64_t>(&value)) return clock_time(*time_ns);
            break;
        default: break;
    }
    append_csv(out, value);
    return out;
}

int compare(const Value& a, const Value& b) {
    const Rank rank = rank_of(a);
    if (rank != rank_of(b)) return order(rank, rank_of(b));
    switch (rank) {
        case Rank::nothing: return 0;
        case Rank::text: return order(std::get<std::string>(a), std::get<std::string>(b));
        case Rank::list: return order(std::get<Frames>(a).size(), std::get<Frames>(b).size());
        case Rank::number: break;
    }
    if (const auto* left = std::get_if<std::uint64_t>(&a))
        if (const auto* right = std::get_if<std::uint64_t>(&b)) return order(*left, *right);
    if (const auto* left = std::get_if<std::int64_t>(&a))
        if (const auto* right = std::get_if<std::int64_t>(&b)) return order(*left, *right);
    return order(number_of(a), number_of(b));
}

}  // namespace exporters
