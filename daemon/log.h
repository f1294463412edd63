#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// Lines for the journal on standard error, by spdlog: `<6>` prefixes under systemd, time and level elsewhere. Lines
/// are limited by kind and level, so that a fault that repeats a thousand times a second does not fill a disk; the next
/// line, or the end, says how many were suppressed. Control characters are escaped. May be used by any thread.
namespace service {

enum class Level : unsigned char { error, warning, info, debug };

class Log {
public:
    /// Checks once whether standard error is the journal. `kind` below names the lines that share a limit: "history",
    /// "interface". It is a constant, never a name from the wire.
    Log(Level level, std::uint64_t max_lines_per_sec);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void error(std::string_view kind, std::string_view line) { write(Level::error, kind, line); }
    void warning(std::string_view kind, std::string_view line) { write(Level::warning, kind, line); }
    void info(std::string_view kind, std::string_view line) { write(Level::info, kind, line); }
    void debug(std::string_view kind, std::string_view line) { write(Level::debug, kind, line); }
    void set_level(Level level);
    void set_limit(std::uint64_t max_lines_per_sec);

private:
    void write(Level level, std::string_view kind, std::string_view line);
    struct State;
    std::unique_ptr<State> state_;
};

/// "error", "warning", "info", "debug"; no value for any other name.
std::optional<Level> find_level(std::string_view name);

}  // namespace service
