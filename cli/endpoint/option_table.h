#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/options/command_options.h"
#include "cli/options/shared.h"
#include "iwarp/iwarp.h"

namespace cli::endpoint {

/// The options of every part of `endpoint`.
struct CommonOptions : options::HelpOptions {
    iwarp::ConnectionOptions connection = {};
    bool json = false;
};
std::span<const options::Option<CommonOptions>> common_options();

/// Two common options that contradict each other; else an empty string.
std::string contradiction_of(const iwarp::ConnectionOptions& connection);

/// The part's own options, and those of all parts.
template <class Own, std::size_t Size>
options::OptionTable<Own> table_of(const std::array<options::Option<Own>, Size>& own) {
    return options::OptionTable<Own>().add(own).add(common_options());
}

/// Reads the command line into `out`, and the words that are not options into `words`.
template <class Own>
std::optional<options::UsageError> parse(const std::vector<std::string>& arguments,
                                         const options::OptionTable<Own>& table, Own& out,
                                         std::vector<std::string>& words) {
    if (auto error = table.parse(arguments, out, words)) return error;
    return options::usage_error_if(contradiction_of(out.connection));
}

}  // namespace cli::endpoint
