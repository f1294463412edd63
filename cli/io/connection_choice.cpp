#include "cli/io/connection_choice.h"

#include "cli/analysis/session.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/signals.h"

namespace cli::io {

namespace {

analysis::AnalysisOptions measuring_options(const IoOptions& options) {
    analysis::AnalysisOptions out;
    out.read_paths = options.read_paths;
    out.expression = options.expression;
    out.expression_path = options.expression_path;
    out.max_packets = options.max_packets;
    out.duration_ns = options.duration_ns;
    out.names = false;
    out.verify_crc = options.verify_crc;
    return out;
}

}  // namespace

ConnectionChoice::End ConnectionChoice::end_of(const metrics::FlowSnapshot& flow, const metrics::Endpoint& endpoint) {
    const bool is_stream = flow.transport == wire::Transport::iwarp;
    return {endpoint.address, is_stream ? endpoint.port.value_or(0) : endpoint.qpn.value_or(0)};
}

std::optional<int> ConnectionChoice::find(const IoOptions& options) {
    if (!options.flow) return std::nullopt;
    const analysis::AnalysisOptions measuring = measuring_options(options);
    analysis::Session session(measuring, "io");
    if (!session.run()) return session.status();
    if (Signals::stop()) return exit_failed;
    const metrics::FlowSnapshot* const flow = session.snapshot().flow(*options.flow);
    if (flow == nullptr) {
        print_message("rdmascope io: there is no flow {}; `rdmascope flows` lists all flows", *options.flow);
        return exit_failed;
    }
    ends_ = Ends{end_of(*flow, flow->source), end_of(*flow, flow->destination)};
    return std::nullopt;
}

bool ConnectionChoice::has(const metrics::CommandConnectionFigures& connection) const {
    if (!ends_) return true;
    const auto is_same = [](const End& end, const metrics::Address& address, std::uint32_t number) {
        return end.address == address && (end.number == number || end.number == 0 || number == 0);
    };
    const auto joins = [&](const End& initiator, const End& target) {
        return is_same(initiator, connection.initiator, connection.initiator_number) &&
               is_same(target, connection.target, connection.target_number);
    };
    return joins(ends_->source, ends_->destination) || joins(ends_->destination, ends_->source);
}

}  // namespace cli::io
