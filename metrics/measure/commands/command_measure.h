#pragma once
#include <functional>
#include <map>
#include <vector>

#include "metrics/figures/command_figures.h"
#include "upper/command_listener.h"

namespace metrics::inline measure::inline commands {

/// Adds up the commands that a upper::Reader finds. Figures grow with connections and kinds, not with commands.
class CommandMeasure final : public upper::Listener {
public:
    /// Called with each command that has ended, in the order of its connection. May be empty.
    using RecordSink = std::function<void(const CommandConnectionFigures&, const CommandRecord&)>;
    explicit CommandMeasure(RecordSink sink = {}) : sink_(std::move(sink)) {}

    void recognized(const upper::Connection& connection) override;
    void command(const upper::Connection& connection, const upper::FinishedCommand& finished) override;
    void ended(const upper::Connection& connection) override;

    /// Connections in the order in which they were recognized. Complete once the reader has finished.
    std::vector<CommandConnectionFigures> figures() const;

private:
    CommandConnectionFigures& figures_of(const upper::Connection& connection);
    static CommandKindFigures& kind_of(CommandConnectionFigures& figures, const std::string& kind);
    static void add(CommandKindFigures& figures, const CommandRecord& record);

    RecordSink sink_;
    std::map<std::uint64_t, CommandConnectionFigures> connections_;
};

}  // namespace metrics::measure::commands
