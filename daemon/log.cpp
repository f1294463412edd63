#include "daemon/log.h"

#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text_format.h"
#include "daemon/line_limit.h"

namespace service {

namespace {

constexpr std::size_t longest_line = 4096;

constexpr std::array level_names{std::string_view("error"), std::string_view("warning"), std::string_view("info"),
                                 std::string_view("debug")};

spdlog::level::level_enum spdlog_level(Level level) {
    switch (level) {
        case Level::error: return spdlog::level::err;
        case Level::warning: return spdlog::level::warn;
        case Level::info: return spdlog::level::info;
        case Level::debug: return spdlog::level::debug;
    }
    return spdlog::level::info;
}

/// sd-daemon(3): `<4>` in front of a line.
class PriorityFlag final : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        const char priority = message.level >= spdlog::level::err     ? '3'
                              : message.level == spdlog::level::warn  ? '4'
                              : message.level == spdlog::level::debug ? '7'
                                                                      : '6';
        const std::array prefix{'<', priority, '>'};
        out.append(prefix.data(), prefix.data() + prefix.size());
    }
    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PriorityFlag>(); }
};

/// systemd.exec(5): device and inode of the stream that it connected to the journal.
bool goes_to_journal() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat file {};
    return stream != nullptr && ::fstat(STDERR_FILENO, &file) == 0 &&
           fmt::format("{}:{}", file.st_dev, file.st_ino) == stream;
}

std::unique_ptr<spdlog::formatter> formatter() {
    auto made = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
    if (goes_to_journal())
        made->add_flag<PriorityFlag>('*').set_pattern("%*%v");
    else
        made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v");
    return made;
}

/// Names of hosts and interfaces come from elsewhere: no line may end early, or speak to a terminal.
std::string cleaned(std::string_view line) {
    std::string out;
    base::append_printable(out, line.substr(0, longest_line));
    return line.size() > longest_line ? out + "..." : out;
}

}  // namespace

struct Log::State {
    std::mutex mutex;
    Level level;
    /// One a level: news of a kind does not leave out its warnings.
    std::array<LineLimit, level_names.size()> limits;
    spdlog::logger logger;

    State(Level from, std::uint64_t most)
        : level(from),
          limits{LineLimit(most), LineLimit(most), LineLimit(most), LineLimit(most)},
          logger("rdmascope", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
        logger.set_formatter(formatter());
        logger.set_level(spdlog::level::trace);  // Log decides, before lines are counted.
    }
};

Log::Log(Level level, std::uint64_t max_lines_per_sec) : state_(std::make_unique<State>(level, max_lines_per_sec)) {}

Log::~Log() {
    for (const LineLimit& limit : state_->limits)
        for (const LineLimit::Rest& rest : limit.rest())
            state_->logger.log(spdlog_level(Level::warning),
                               spdlog::string_view_t(
                                   cleaned(fmt::format("{}: {} more lines were left out", rest.kind, rest.left_out))));
}

void Log::write(Level level, std::string_view kind, std::string_view line) {
    const std::scoped_lock lock(state_->mutex);
    if (level > state_->level) return;
    LineLimit& limit = state_->limits[static_cast<std::size_t>(level)];
    const LineLimit::Answer answer = limit.ask(kind, static_cast<std::uint64_t>(base::steady_ns()));
    if (!answer.passes) return;
    std::string text = cleaned(line);
    if (answer.left_out > 0)
        text += fmt::format(" ({} lines about {} were left out before)", answer.left_out, cleaned(kind));
    state_->logger.log(spdlog_level(level), spdlog::string_view_t(text));
}

void Log::set_level(Level level) {
    const std::scoped_lock lock(state_->mutex);
    state_->level = level;
}

void Log::set_limit(std::uint64_t max_lines_per_sec) {
    const std::scoped_lock lock(state_->mutex);
    for (LineLimit& limit : state_->limits) limit.set_limit(max_lines_per_sec);
}

std::optional<Level> find_level(std::string_view name) {
    for (std::size_t i = 0; i < level_names.size(); ++i)
        if (level_names[i] == name) return static_cast<Level>(i);
    return {};
}

}  // namespace service
