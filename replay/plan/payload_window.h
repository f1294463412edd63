#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "dissect/dissector.h"
#include "metrics/measure/account/frame_observer.h"

namespace replay::inline plan {

/// The captured bytes on their way from the file to the peer: the reading thread waits if there are too many.
class PayloadWindow {
public:
    static constexpr std::uint64_t most = std::uint64_t{64}
                                          << 20;  ///< bytes; the messages of one batch of frames come in addition

    void take(std::uint64_t octets);
    void give_back(std::uint64_t octets);
    /// Waits while `most` or more are held; false if no thread posts any more.
    bool wait_for_room();
    /// No thread posts any more.
    void close();

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t held_ = 0;
    bool closed_ = false;
};

/// A message's captured bytes, all of them. All posters (copies, both ends) share it.
class Payload {
public:
    Payload(std::vector<std::byte> octets, std::shared_ptr<PayloadWindow> window);
    ~Payload();
    Payload(const Payload&) = delete;
    Payload& operator=(const Payload&) = delete;

    /// For registration as memory, which requires the right to write; no code writes.
    std::span<std::byte> octets() { return octets_; }

private:
    std::vector<std::byte> octets_;
    std::shared_ptr<PayloadWindow> window_;
};

/// Keeps the bytes of Sends and Writes until their messages are whole. A message has its own bytes only if every packet
/// of it was captured completely and none is damaged. Listens to the dissector before the engine, and is called with
/// what the engine reports of messages. Memory is bounded: the message that began first is dropped.
class PayloadCollector {
public:
    static constexpr std::size_t most = std::size_t{64} << 20;  ///< bytes of incomplete messages
    /// Packets that were not requested are forgotten after this number of frames: far fewer than a PSN takes to return.
    static constexpr std::uint64_t most_frames = std::uint64_t{1} << 20;

    explicit PayloadCollector(std::shared_ptr<PayloadWindow> window) : window_(std::move(window)) {}

    /// The capture is read again from its beginning.
    void begin_run();

    void on_unit(const dissect::Unit& unit);
    void on_notice(const dissect::Notice& notice);

    /// metrics::FrameObserver, of flows that are re-enacted.
    void packet(std::uint64_t flow, std::uint64_t frame);
    void taken_back(std::uint64_t flow, std::uint64_t frame);
    /// The content of a Send or Write of the flow that ended in `frame`; nullptr if it is not completely known, or
    /// empty. Can be called once.
    std::shared_ptr<Payload> message(std::uint64_t flow, const metrics::FrameObserver::Message& message,
                                     std::uint64_t frame);

private:
    /// One packet of InfiniBand's transport; by its frame.
    struct Packet {
        std::uint64_t flow = 0;
        std::uint32_t psn = 0;
        bool named = false;  ///< its flow is known
        bool starts = false;
        bool ends = false;
        std::vector<std::byte> octets;
    };
    using Packets = std::map<std::uint64_t, Packet>;

    /// One direction of an iWARP stream. RFC 5041 lets no message begin on a queue before the previous one has ended.
    struct Growing {
        std::vector<std::byte> octets = {};
        std::uint64_t next = 0;  ///< offset of the next segment, according to its header
        std::uint32_t key = 0;   ///< Write: STag; Send: MSN
        bool open = false;
        bool broken = false;  ///< until its last segment
    };
    struct Direction {
        std::uint64_t key = 0;
        std::uint64_t frame = 0;  ///< the last frame with bytes of it
        Growing send = {};
        Growing write = {};
    };
    using Directions = std::list<Direction>;  ///< in the order of `frame`
    /// The message that the present unit has ended.
    struct Ended {
        std::uint64_t frame = 0;
        bool write = false;
        std::vector<std::byte> octets = {};
    };

    void keep_packet(const dissect::Unit& unit);
    void keep_segment(const dissect::Unit& unit);
    void grow(Growing& into, const dissect::Unit& unit);
    void break_off(std::uint64_t key, std::uint64_t frame);
    Direction& direction(std::uint64_t key, std::uint64_t frame);
    Packets::iterator erase(Packets::iterator packet);
    void forget(Directions::iterator direction);
    void stay_bounded(std::uint64_t frame);
    std::vector<std::byte> of_packets(std::uint64_t flow, std::uint64_t frame);

    std::shared_ptr<PayloadWindow> window_;
    Packets packets_;
    std::unordered_map<std::uint64_t, std::unordered_map<std::uint32_t, std::uint64_t>> by_psn_;  ///< flow; PSN; frame
    Directions directions_;
    std::unordered_map<std::uint64_t, Directions::iterator> by_stream_;
    Ended ended_;
    std::size_t held_ = 0;  ///< bytes, including what is stored with them
};

}  // namespace replay::plan
