#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "cli/io/options.h"
#include "metrics/figures/command_figures.h"
#include "metrics/figures/snapshot.h"

namespace cli::io {

/// The connection of the flow that --flow names. Without --flow, all connections.
class ConnectionChoice {
public:
    /// Reads the files to find the flow. No value if it was found, or none is asked for; else the exit status, after
    /// the reason was reported.
    std::optional<int> find(const IoOptions& options);
    bool has(const metrics::CommandConnectionFigures& connection) const;

private:
    struct End {
        metrics::Address address;
        std::uint32_t number = 0;  ///< queue pair or TCP port; 0: not known
    };
    struct Ends {
        End source;
        End destination;
    };
    static End end_of(const metrics::FlowSnapshot& flow, const metrics::Endpoint& endpoint);

    std::optional<Ends> ends_ = {};
};

}  // namespace cli::io
