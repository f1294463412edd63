#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/iwarp.h"
#include "iwarp/transport/memory_network.h"
#include "tests/script/runner/command_words.h"
#include "tests/script/runner/framing.h"
#include "tests/script/runner/guarded_memory.h"
#include "tests/script/runner/mpa_frames.h"

namespace script {

/// What a name in a script stands for. Of region, window and fast region one at most.
struct Memory {
    std::shared_ptr<GuardedMemory> octets;  ///< null for windows and fast regions
    std::shared_ptr<iwarp::MemoryRegion> region;
    std::shared_ptr<iwarp::MemoryWindow> window;
    std::uint64_t window_offset = 0;  ///< tagged offset of the window's first octet
    std::uint32_t stag() const;
    std::uint64_t first_offset() const;
};

/// `name[first..last]` and, after `@`, an STag of the script's choice.
struct Slice {
    Memory* memory = nullptr;
    std::string name;
    std::uint64_t first = 0;
    std::uint64_t length = 0;
    std::optional<std::uint32_t> stag;
    View octets() const;  ///< throws Failure where it is not all inside
    iwarp::Sge sge() const;
};

/// One queue pair with the peer at the other end of its connection.
struct Connection {
    std::string name;
    std::shared_ptr<iwarp::QueuePair> queue_pair;
    std::unique_ptr<iwarp::transport::MemoryNetwork::RawPeer> peer;
    bool stack_initiates = false;
    Octets stream;                     ///< came from the stack and was not yet looked at
    std::optional<StartFrame> ours;    ///< the peer's start frame
    std::optional<StartFrame> theirs;  ///< the stack's
    Framing out;                       ///< what the peer sends
    Framing in;                        ///< what the stack sends
    struct Place {
        std::uint32_t msn = 1;
        std::uint32_t offset = 0;
    };
    std::map<std::uint32_t, Place> sent;  ///< by queue
    std::map<std::uint32_t, Place> received;
    std::map<std::string, Segment> labelled;  ///< "" for the last one that was sent
    Octets held;                              ///< the peer keeps it until its next line
    std::uint64_t fpdus_sent = 0;
    bool terminated = false;                               ///< the stack sent a Terminate
    bool end_expected = false;                             ///< FIN or RST was expected, and came
    std::map<std::uint64_t, std::vector<Slice>> receives;  ///< by work request
    std::map<std::uint64_t, Slice> sinks;                  ///< of reads and atomics

    /// Octets that have arrived become part of `stream`.
    void pull();
    void agree();  ///< both start frames are known: CRC and markers follow
};

/// All that a script has made.
class World {
public:
    World() = default;
    ~World();

    iwarp::Device& device();
    iwarp::transport::MemoryNetwork& network();
    Connection& connection();  ///< the one that lines are about
    Connection& make_connection(const std::string& name);
    std::shared_ptr<iwarp::ProtectionDomain> domain(const std::string& number);
    std::shared_ptr<iwarp::CompletionQueue> completion_queue(const std::string& name);
    Memory& memory(const std::string& name);
    iwarp::QueuePair& queue_pair();  ///< made now, where the script has not done so
    void make_queue_pair(Words& words);

    enum class Meaning { plain, stag, offset };
    static Meaning meaning_of(std::string_view key);
    /// Terms joined by + - ^: numbers, max32, max64, values of `let`, names (their STag or first tagged offset, as the
    /// key suggests or .stag and .to say).
    std::uint64_t number(const std::string& text, Meaning meaning = Meaning::plain);
    std::uint32_t number32(const std::string& text, Meaning meaning = Meaning::plain);
    /// Parts joined by commas: hexadecimal, 16*aa, 'text', ramp:64, be32:N, be64:N, name[0..8].
    Octets data(const std::string& text);
    Slice slice(const std::string& text);
    iwarp::ConnectionOptions connection_options(Words& words);

    /// Everything that can happen now happens; events are collected.
    void run();
    /// Throws Failure where something happened that no line expected.
    void check_end();

    iwarp::DeviceOptions device_options;
    iwarp::transport::Impairment impairment;
    std::map<std::string, Memory> memories;
    std::map<std::string, std::shared_ptr<iwarp::CompletionQueue>> completion_queues;
    std::map<std::string, std::shared_ptr<iwarp::SharedReceiveQueue>> shared_queues;
    std::map<std::string, std::uint64_t> values;
    std::map<std::string, std::unique_ptr<Connection>> connections;
    Connection* current = nullptr;
    std::shared_ptr<iwarp::Listener> listener;
    std::shared_ptr<iwarp::ConnectionRequest> request;
    std::deque<iwarp::Event> events;
    std::map<std::uint64_t, std::vector<Slice>> shared_receives;

private:
    std::shared_ptr<iwarp::transport::MemoryNetwork> network_;
    std::shared_ptr<iwarp::Device> device_;
    std::map<std::string, std::shared_ptr<iwarp::ProtectionDomain>> domains_;
};

}  // namespace script
