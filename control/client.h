#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/result.h"
#include "control/frames_of.h"
#include "metrics/figures/snapshot.h"

namespace control {

/// Whether a daemon listens at a path, even if this user may not ask it.
bool daemon_listens(const std::string& path);

/// The path that a daemon has when nothing else was said.
inline constexpr const char* default_socket = "/run/rdmascope/rdmascope.sock";

/// A client's view of a running daemon. Errors say what to do: the daemon does not run (and how to start it), or the
/// socket may not be opened (and which group may).
class Client {
public:
    static base::Result<std::unique_ptr<Client>> connect(const std::string& path,
                                                         std::uint64_t timeout_ns = 5'000'000'000);
    ~Client();

    /// The figures of now.
    base::Result<metrics::Snapshot> try_snapshot(std::uint64_t max_age_ms = 100);
    /// One request, one answer: any command of protocol.h, as JSON text.
    base::Result<std::string> ask(const std::string& request);
    /// Has the daemon send frames (commands.h says which): the descriptor gives one pcapng file, for as long as there
    /// are frames to come. Nothing else can be asked afterwards.
    base::Result<base::Descriptor> frames(FramesOf which);
    bool crc_verified() const;
    const std::string& path() const;

private:
    struct State;
    explicit Client(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace control
