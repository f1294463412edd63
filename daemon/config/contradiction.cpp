#include "daemon/config/contradiction.h"

#include <fmt/core.h>
#include <map>

#include "daemon/config/config_file.h"
#include "daemon/config/config_table.h"

namespace service::inline config {

namespace {

void judge_intervals(const Config& config, std::vector<Contradiction>& out) {
    const std::uint64_t step = config.engine.interval_ns;
    if (step == 0 || config.history.interval_ns % step == 0) return;
    Config shown = config;
    out.push_back(
        {{"history.interval", "engine.interval"},
         fmt::format("{} is given, a multiple of engine.interval, which is {}, is expected",
                     format(*find_key("history.interval"), shown), format(*find_key("engine.interval"), shown))});
}

void judge_clickhouse(const Config& config, std::vector<Contradiction>& out) {
    if (!config.clickhouse.makes_rows()) return;
    const std::string target = config.clickhouse.url.empty() ? "clickhouse.jsonl" : "clickhouse.url";
    if (!config.clickhouse.url.empty() && !config.clickhouse.jsonl.empty())
        out.push_back({{"clickhouse.url", "clickhouse.jsonl"}, "rows go to a server or to a file, not to both"});
    if (config.clickhouse.spool.empty())
        out.push_back({{"clickhouse.spool", target}, fmt::format("a folder is required where {} is set", target)});
    if (config.engine.interval_ns == 0 || config.clickhouse.interval_ns % config.engine.interval_ns == 0) return;
    Config shown = config;
    out.push_back(
        {{"clickhouse.interval", "engine.interval"},
         fmt::format("{} is given, a multiple of engine.interval, which is {}, is expected",
                     format(*find_key("clickhouse.interval"), shown), format(*find_key("engine.interval"), shown))});
}

void judge_sources(const Config& config, std::vector<Contradiction>& out) {
    if (!config.capture.interfaces.empty() || !config.capture.verbs_devices.empty()) return;
    out.push_back({{"capture.interfaces", "capture.verbs_devices"},
                   "neither interfaces nor verbs_devices: there is nothing to capture from"});
}

/// A trace says what happened when; flows that several threads have at once could not be asked in that order.
void judge_traces(const Config& config, std::vector<Contradiction>& out) {
    if (!config.traces.wanted() || config.engine.threads == 1) return;
    const char* const which = config.traces.programs ? "traces.programs" : "traces.kernel_events";
    out.push_back({{"engine.threads", which},
                   fmt::format("{} is given, 1 is expected where {} is set", config.engine.threads, which)});
}

/// A recording must hold what memory held, or the moment that set it off is not in it.
void judge_sizes(const Config& config, std::vector<Contradiction>& out) {
    if (config.recorder.max_file_octets >= config.recorder.memory_octets) return;
    Config shown = config;
    out.push_back(
        {{"recorder.max_file_size", "recorder.memory"},
         fmt::format("{} is given, at least recorder.memory, which is {}, is expected",
                     format(*find_key("recorder.max_file_size"), shown), format(*find_key("recorder.memory"), shown))});
}

void judge_triggers(const std::vector<TriggerConfig>& triggers, std::vector<Contradiction>& out) {
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < triggers.size(); ++i) {
        const TriggerConfig& trigger = triggers[i];
        const std::string path = trigger_path(i);
        const std::vector<std::string> conditions{path, path + ".when", path + ".verdict"};
        if (trigger.name.empty())
            out.push_back({{path, path + ".name"}, "a name is required"});
        else if (!seen.try_emplace(trigger.name, i).second)
            out.push_back({{path + ".name", path}, fmt::format("\"{}\" is the name of another trigger", trigger.name)});
        if (trigger.when.empty() && trigger.verdict.empty())
            out.push_back({conditions, "a condition is required: when or verdict"});
        else if (!trigger.when.empty() && !trigger.verdict.empty())
            out.push_back({conditions, "when and verdict are given, only one is allowed"});
    }
    if (triggers.size() > max_triggers)
        out.push_back({{std::string(trigger_section)},
                       fmt::format("{} triggers are given, at most {} are allowed", triggers.size(), max_triggers)});
}

}  // namespace

std::string trigger_path(std::size_t index) { return fmt::format("{}[{}]", trigger_section, index); }

std::vector<Contradiction> find_contradictions(const Config& config) {
    std::vector<Contradiction> out;
    judge_sources(config, out);
    judge_intervals(config, out);
    judge_clickhouse(config, out);
    judge_traces(config, out);
    judge_sizes(config, out);
    judge_triggers(config.recorder.triggers, out);
    return out;
}

std::vector<std::string> contradictions(const Config& config) {
    std::vector<std::string> lines;
    for (const Contradiction& each : find_contradictions(config))
        lines.push_back(each.paths.front() + ": " + each.message);
    return lines;
}

}  // namespace service::config
