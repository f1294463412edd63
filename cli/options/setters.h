#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/moment.h"
#include "base/quantities.h"
#include "cli/options/option.h"

/// The actions of option rows. Each function is a Setter; its template arguments end with the member that it sets, or
/// with the members that lead there: `number<1, 9, &Options::connection, &Connection::depth>`.
namespace cli::options {

/// "a, b or c"; `last` stands before the last name.
std::string listed(const std::vector<std::string_view>& names, std::string_view last = " or ");

/// A string literal as a template argument.
template <std::size_t Size>
struct Words {
    char text[Size] = {};
    constexpr Words(const char (&literal)[Size]) { std::copy_n(literal, Size, text); }
};

namespace detail {

template <auto... Path, class Settings>
constexpr auto& member_of(Settings& settings) {
    return (settings.*....*Path);
}

template <class Type>
inline constexpr bool is_optional = false;
template <class Type>
inline constexpr bool is_optional<std::optional<Type>> = true;

template <auto... Path, class Settings, class Value>
constexpr void assign(Settings& settings, Value value) {
    auto& member = member_of<Path...>(settings);
    using Member = std::remove_reference_t<decltype(member)>;
    if constexpr (is_optional<Member>)
        member = static_cast<typename Member::value_type>(std::move(value));
    else
        member = static_cast<Member>(std::move(value));
}

}  // namespace detail

template <auto... Path, class Settings>
std::string turn_on(Settings& settings, const std::string& /*value*/) {
    detail::assign<Path...>(settings, true);
    return {};
}

template <auto... Path, class Settings>
std::string turn_off(Settings& settings, const std::string& /*value*/) {
    detail::assign<Path...>(settings, false);
    return {};
}

/// Any value.
template <auto... Path, class Settings>
std::string store(Settings& settings, const std::string& value) {
    detail::assign<Path...>(settings, value);
    return {};
}

/// Any value except an empty one.
template <Words Expected, auto... Path, class Settings>
std::string store_nonempty(Settings& settings, const std::string& value) {
    if (value.empty()) return Expected.text;
    detail::assign<Path...>(settings, value);
    return {};
}

/// Appends a value to a list.
template <auto... Path, class Settings>
std::string append(Settings& settings, const std::string& value) {
    detail::member_of<Path...>(settings).push_back(value);
    return {};
}

template <std::uint64_t Least, std::uint64_t Most, auto... Path, class Settings>
std::string number(Settings& settings, const std::string& value) {
    std::uint64_t given = 0;
    std::string expected = base::take_number(value, Least, Most, given);
    if (expected.empty()) detail::assign<Path...>(settings, given);
    return expected;
}

/// Bytes, with K, M, G.
template <std::uint64_t Least, std::uint64_t Most, auto... Path, class Settings>
std::string size(Settings& settings, const std::string& value) {
    std::uint64_t given = 0;
    std::string expected = base::take_size(value, Least, Most, given);
    if (expected.empty()) detail::assign<Path...>(settings, given);
    return expected;
}

/// Nanoseconds.
template <auto... Path, class Settings>
std::string duration(Settings& settings, const std::string& value) {
    std::uint64_t given = 0;
    std::string expected = base::take_duration(value, given);
    if (expected.empty()) detail::assign<Path...>(settings, given);
    return expected;
}

/// As `duration`; `0` is valid too.
template <auto... Path, class Settings>
std::string duration_or_zero(Settings& settings, const std::string& value) {
    if (value != "0") return duration<Path...>(settings, value);
    detail::assign<Path...>(settings, 0);
    return {};
}

/// Bits per second.
template <auto... Path, class Settings>
std::string rate(Settings& settings, const std::string& value) {
    std::uint64_t given = 0;
    std::string expected = base::take_rate(value, given);
    if (expected.empty()) detail::assign<Path...>(settings, given);
    return expected;
}

/// Nanoseconds since 1970, from a time of day, a date, or a time before now.
template <auto... Path, class Settings>
std::string moment(Settings& settings, const std::string& value) {
    std::int64_t given = 0;
    std::string expected = base::take_moment(value, base::wall_ns(), given);
    if (expected.empty()) detail::assign<Path...>(settings, given);
    return expected;
}

/// "on" or "off".
template <auto... Path, class Settings>
std::string on_off(Settings& settings, const std::string& value) {
    bool given = false;
    std::string expected = base::take_switch(value, given);
    if (expected.empty()) detail::assign<Path...>(settings, given);
    return expected;
}

/// One name of an array of pairs: the name, and the value it stands for.
template <const auto& Choices, auto... Path, class Settings>
std::string choice(Settings& settings, const std::string& value) {
    std::vector<std::string_view> names;
    for (const auto& [name, meaning] : Choices) {
        names.push_back(name);
        if (name != value) continue;
        detail::assign<Path...>(settings, meaning);
        return {};
    }
    return listed(names);
}

}  // namespace cli::options
