#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "daemon/config/config.h"

/// The one table of all keys: reading, checking, the reference and the manual use it.
namespace service::inline config {

enum class Kind : std::uint8_t { text, choice, list, numbers, number, size, duration, rate, toggle };

/// When a changed key takes effect after a reload.
enum class Effect : std::uint8_t { at_once, on_restart };

template <class Owner, class Value>
using Access = Value& (*)(Owner&);

/// Where the value of a key is stored.
using Member = std::variant<Access<Config, std::string>, Access<Config, std::vector<std::string>>,
                            Access<Config, std::vector<std::uint64_t>>, Access<Config, std::uint64_t>,
                            Access<Config, std::optional<std::uint64_t>>, Access<Config, bool>,
                            Access<TriggerConfig, std::string>>;

struct Key {
    std::string_view section;
    std::string_view name;
    Kind kind;
    Member member;
    Effect effect;
    std::string_view help;  ///< sentences
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    bool or_zero = false;                      ///< 0 is accepted, too
    bool or_auto = false;                      ///< of a number: "auto" is accepted, too
    std::string_view wanted = {};              ///< the form of a text, of a list's element or of a choice
    bool (*fits)(std::string_view) = nullptr;  ///< for a text and for a list's element; null: anything fits

    std::string path() const { return std::string(section) + "." + std::string(name); }
};

struct Section {
    std::string_view name;
    std::string_view help;
};

/// In the order of the reference. `recorder.trigger` is an array of tables; the others are tables.
std::span<const Section> sections();
std::span<const Key> keys();
/// Finds a key by its path, "capture.snaplen"; null if there is no such key.
const Key* find_key(std::string_view path);

inline constexpr std::string_view trigger_section = "recorder.trigger";
inline constexpr std::size_t max_triggers = 64;

/// Calls `visitor` with the key's value. `trigger` is only needed for keys of a trigger.
template <class Visitor>
decltype(auto) visit_value(const Key& key, Config& config, TriggerConfig* trigger, Visitor&& visitor) {
    return std::visit(
        [&](auto access) -> decltype(auto) {
            if constexpr (std::is_invocable_v<decltype(access), Config&>)
                return visitor(access(config));
            else
                return visitor(access(*trigger));
        },
        key.member);
}

/// What a key accepts, to be followed by "is expected": `a size from 96 to "256KiB", or 0,`.
std::string accepted_values(const Key& key);

/// Sets a key from `values`: one, or any number for a list. If the values do not fit, leaves the key alone and fails
/// with what is expected instead.
base::Result<void> set(const Key& key, Config& config, TriggerConfig* trigger, const std::vector<std::string>& values);

/// The key's value as TOML.
std::string format(const Key& key, Config& config, TriggerConfig* trigger = nullptr);

}  // namespace service::config
