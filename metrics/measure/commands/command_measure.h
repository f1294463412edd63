#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
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
    void asked_next(const upper::Connection& connection, std::uint64_t host_ns) override;
    void ended(const upper::Connection& connection) override;

    /// Connections in the order in which they were recognized. Complete once the reader has finished.
    std::vector<CommandConnectionFigures> figures() const;
    bool has_connections() const { return !connections_.empty(); }
    /// Those of one connection, by its number; nullptr if it has none. Before the reader has finished, refresh() has to
    /// be called for what is known apart from its commands.
    const CommandConnectionFigures* find(std::uint64_t number) const;
    void refresh(upper::Connection& connection);
    /// Counts in `figures`, those of this connection, what has waited long at `end_ns`.
    void count_long_waits(std::uint64_t number, std::int64_t end_ns, CommandConnectionFigures& figures) const;
    /// Forgets the connection's figures. More may follow.
    void forget(std::uint64_t number) {
        connections_.erase(number);
        waits_.erase(number);
    }
    /// Later commands are shown by exhibits of their own.
    void forget_exhibits();

private:
    CommandConnectionFigures& figures_of(const upper::Connection& connection);
    static CommandKindFigures& kind_of(CommandConnectionFigures& figures, std::string_view kind);
    static void add(CommandKindFigures& figures, const upper::Connection& connection,
                    const upper::FinishedCommand& finished);
    static void add_answered(CommandKindFigures& figures, const upper::Connection& connection,
                             const upper::FinishedCommand& finished);

    /// When the commands without an answer were asked.
    struct Waits {
        std::map<std::string, std::vector<std::int64_t>> unanswered_ns;  ///< by kind
        std::vector<std::int64_t> open_ns;                               ///< at the last refresh()
    };

    RecordSink sink_;
    std::map<std::uint64_t, CommandConnectionFigures> connections_;
    std::map<std::uint64_t, Waits> waits_;
};

}  // namespace metrics::measure::commands
