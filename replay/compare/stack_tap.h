#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/files/writer.h"
#include "iwarp/iwarp.h"
#include "metrics/measure/engine/analyzer.h"
#include "replay/compare/traffic_recorder.h"

namespace replay::inline compare {

/// What two devices of this process pass to TCP and receive from it, as frames: for users who may not capture. A
/// segment passes when its sender's TCP has it, an acknowledgement when the receiver's stack has read the bytes; what
/// the kernel does in between (its own segments, acknowledgements, losses) is not seen. Its functions may be called
/// from several threads.
class StackTap {
public:
    /// `path`: the file for the frames; empty: none. `why`: the reason why there is no capture, for finish() to report.
    static base::Result<std::unique_ptr<StackTap>> open(const std::string& path, const std::string& why);
    ~StackTap();

    /// A device of one end, whose connections are seen. The tap must outlive it.
    std::shared_ptr<iwarp::Device> device(bool initiator);
    /// Call it once, when the devices are idle.
    Recording finish();

    /// The connection from the initiator's port; side 0 is the initiator's. Calls and requests of a stream.
    void opened(unsigned side, std::uint16_t initiator_port, std::uint16_t acceptor_port);
    void sent(unsigned side, std::uint16_t initiator_port, std::vector<std::byte> octets);
    void received(unsigned side, std::uint16_t initiator_port, std::size_t octets);

private:
    struct Event {
        bool taken = false;  ///< received, else sent
        std::size_t octets = 0;
        std::vector<std::byte> data = {};
    };
    struct Side {
        std::uint64_t sent = 0;
        std::uint64_t taken = 0;
        std::deque<Event> waiting = {};
    };
    struct Connection {
        std::array<std::uint16_t, 2> ports{};
        std::array<Side, 2> sides{};
        bool begun = false;
    };
    explicit StackTap(std::unique_ptr<capture::Writer> writer);
    /// Emits what can have happened: no bytes are read before they were sent.
    void pass(Connection& connection);
    void write(Connection& connection, unsigned side, bool syn, std::span<const std::byte> data);

    std::mutex mutex_;
    std::unique_ptr<capture::Writer> writer_;
    metrics::Analyzer analyzer_;
    Recording recording_;
    std::unordered_map<std::uint16_t, Connection> connections_;  ///< by the initiator's port
    std::vector<std::byte> frame_;
    std::uint64_t frames_ = 0;
    std::uint16_t identification_ = 0;
};

}  // namespace replay::compare
