#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_table.h"
#include "iwarp/iwarp.h"

namespace cli::endpoint {

enum class Group : std::uint8_t { work, connection, bounds, printing, other };

template <class Settings>
using Row = OptionRow<Settings, Group>;

/// What every part of `endpoint` lets its user say.
struct CommonOptions {
    iwarp::ConnectionOptions connection = {};
    bool json = false;
    bool help = false;
    bool version = false;
};
std::span<const Row<CommonOptions>> common_options();

/// What two of the common options say that cannot both be; else an empty string.
std::string contradiction_of(const iwarp::ConnectionOptions& connection);

std::string help_page(std::string_view beginning, const GroupedOptions<Group>& options, std::string_view ending);

template <class Own>
GroupedOptions<Group> all_options(std::span<const Row<Own>> own) {
    return joined(own, common_options());
}

/// Reads the command line into `out`, the words that are no options into `words`; returns the reason where it cannot be
/// obeyed, else an empty string.
template <class Own>
std::string parse(const std::vector<std::string>& arguments, std::span<const Row<Own>> own, Own& out,
                  std::string& words) {
    std::string reason = parse_options(arguments, own, common_options(), out, words);
    return reason.empty() ? contradiction_of(out.connection) : reason;
}

}  // namespace cli::endpoint
