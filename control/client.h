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

/// Whether a daemon listens at a path, even if this user may not connect to it.
bool daemon_listens(const std::string& path);

/// The default path of a daemon's socket.
inline constexpr const char* default_socket = "/run/rdmascope/rdmascope.sock";

/// A client's view of a running daemon. Errors say what to do: the daemon does not run (and how to start it), or the
/// socket may not be opened (and which group may).
class Client {
public:
    static base::Result<std::unique_ptr<Client>> connect(const std::string& path,
                                                         std::uint64_t timeout_ns = 5'000'000'000);
    ~Client();

    /// The present figures.
    base::Result<metrics::Snapshot> try_snapshot(std::uint64_t max_age_ms = 100);
    /// One request, one answer: any command of protocol.h, as JSON text.
    base::Result<std::string> ask(const std::string& request);
    /// Asks the daemon for frames (commands.h says which). The descriptor gives one pcapng file, for as long as there
    /// are frames to come. The connection accepts no other request afterwards.
    base::Result<base::Descriptor> frames(FramesOf which);
    bool crc_verified() const;
    /// The rules that the daemon compares traffic with; empty: none.
    const std::string& policy_file() const;
    const std::string& path() const;

private:
    struct State;
    explicit Client(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace control
