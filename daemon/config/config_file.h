#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config.h"
#include "wire/result.h"

namespace service {

/// What is wrong with a configuration, one line a mistake, each ready for stderr:
/// `rdmascope.toml:12:1: capture.snaplenn is not known, did you mean 'snaplen'?`
struct ConfigErrors {
    std::vector<std::string> lines;
};

/// Reads TOML. All mistakes are told, not only the first: syntax, unknown keys and sections, values of the wrong type
/// or out of range, and what contradicts itself (history.interval that is no multiple of engine.interval, a trigger
/// with neither condition, a filter that does not compile is told by capture later).
wire::Result<Config, ConfigErrors> parse_config(std::string_view toml, const std::string& path);
wire::Result<Config, ConfigErrors> read_config(const std::string& path);

/// What contradicts itself; empty where nothing does. Called by parse_config, and by the command line for what it set.
std::vector<std::string> contradictions(const Config& config);

/// A complete file: every key with its default, commented out, its unit and what it does. `--print-config`, and the
/// source of the manual page's list.
std::string config_reference();
/// The same list as roff, for rdmascope.toml(5); a test holds the page to it.
std::string config_manual();

/// Which keys differ and take effect at once, and which only when the daemon is started again ("engine.threads").
struct ConfigChange {
    std::vector<std::string> applied;
    std::vector<std::string> needs_restart;
};
ConfigChange compare(const Config& running, const Config& wanted);

}  // namespace service
