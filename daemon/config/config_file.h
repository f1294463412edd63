#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "daemon/config/config.h"

namespace service::inline config {

/// The mistakes in a configuration, one line each, ready for stderr: `rdmascope.toml:12:1: capture.snaplenn: there is
/// no such key, did you mean 'snaplen'?`
struct ConfigErrors {
    std::vector<std::string> lines;
};

/// Reads TOML. Reports all mistakes, not only the first: syntax, unknown keys and sections, values of the wrong type or
/// out of range, and contradictions (a history.interval that is not a multiple of engine.interval, a trigger without a
/// condition). Other folders report their own mistakes: capture/ whether `filter` compiles, the triggers whether `when`
/// and `verdict` are valid.
base::Result<Config, ConfigErrors> parse_config(std::string_view toml, const std::string& path);
/// The same for a file of at most max_config_octets.
base::Result<Config, ConfigErrors> read_config(const std::string& path);
inline constexpr std::size_t max_config_octets = std::size_t{1} << 20;

/// Contradictions in the configuration, one line each ("history.interval: ..."); empty if absent. parse_config
/// reports them with the place in the file; the command line calls this again for the keys that it set.
std::vector<std::string> contradictions(const Config& config);

/// Sets a key ("capture.snaplen") from the command line. The text is written as in a file between quotes: one value or,
/// for a list, any number. If the values do not fit, leaves the key alone and fails with what is expected instead ("a
/// size from 96 to ...").
base::Result<void> set_key(Config& config, std::string_view key, const std::vector<std::string>& values);

/// A complete file, as `--print-config` prints it: every key with its default, commented out (`#key = value`; prose
/// begins with `# `), its accepted values and its effect.
std::string config_reference();
/// The same list as roff, for rdmascope.toml(5); a test compares it with the page.
std::string config_manual();

/// Which changed keys take effect at once, and which only after a restart ("engine.threads").
struct ConfigChange {
    std::vector<std::string> applied;
    std::vector<std::string> needs_restart;
    Config in_force;  ///< the running one, with what takes effect at once
};
ConfigChange compare(const Config& running, const Config& wanted);

}  // namespace service::config
