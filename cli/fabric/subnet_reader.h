#pragma once
#include <memory>

#include "base/result.h"
#include "cli/fabric/options.h"
#include "fabric/discovery/discover.h"
#include "fabric/umad/umad_port.h"

namespace cli::fabric {

/// A subnet that can be asked more.
struct LiveSubnet {
    ::fabric::umad::OpenPort port = {};
    std::unique_ptr<::fabric::discovery::QueryPool> pool = {};
    ::fabric::discovery::Discovery found = {};
};

/// Reads the subnet through a port of this machine, with counters as the options say.
base::Result<LiveSubnet> read_live(const FabricOptions& options);
base::Result<::fabric::Subnet> read_file(const std::string& path);

}  // namespace cli::fabric
