#pragma once
#include <memory>
#include <optional>
#include <string>

#include "fabric/umad/mad_transport.h"

namespace fabric::umad {

/// Which local port to ask. Nothing chosen: the first InfiniBand port that is active.
struct PortChoice {
    std::string adapter = {};
    std::optional<unsigned> port = {};
};

/// A port of this machine, opened by libibumad.
struct OpenPort {
    LocalPort local = {};
    std::unique_ptr<MadTransport> transport = {};
};

/// Fails if this program was built without libibumad, if there is no such port, or if it may not be opened.
base::Result<OpenPort> open_port(const PortChoice& choice, const Patience& patience);

}  // namespace fabric::umad
