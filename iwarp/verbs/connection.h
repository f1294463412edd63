#pragma once
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/iwarp.h"
#include "iwarp/mpa/batch.h"
#include "iwarp/mpa/fpdu_reader.h"
#include "iwarp/mpa/fpdu_writer.h"
#include "iwarp/mpa/handshake.h"
#include "iwarp/rdmap/inbound.h"
#include "iwarp/rdmap/outbound.h"
#include "iwarp/verbs/device_impl.h"
#include "iwarp/verbs/stream.h"

namespace iwarp::verbs {

/// Throws Error, naming the option and its range. How much private data an answer may have, the request decides.
void check_options(const ConnectionOptions& options, bool initiates);

/// A connection's life: start frames, FPDUs, Terminate or graceful close. Between the queue pair (above) and the
/// transport (below); the layers of the protocol hang together here.
class Connection final : public Stream,
                         private rdmap::InboundEvents,
                         private rdmap::OutboundEvents,
                         private mpa::SegmentSink {
public:
    static std::shared_ptr<Connection> initiator(Device::Impl& device, QueuePair::Impl& pair,
                                                 const ConnectionOptions& options);
    static std::shared_ptr<Connection> responder(Device::Impl& device, Listener::Impl& listener,
                                                 const ConnectionOptions& options, const std::string& peer);
    Connection(Device::Impl& device, bool initiates, const ConnectionOptions& options);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() override;

    // Stream: the transport's side.
    void connected(const std::string& peer, std::uint32_t emss, std::int64_t now_ns) override;
    void segment_size_changed(std::uint32_t emss, std::int64_t now_ns) override;
    void connect_failed(Failure kind, const std::string& why, std::int64_t now_ns) override;
    void receive(wire::Bytes octets, std::int64_t now_ns) override;
    std::span<const wire::MutableBytes> room(std::size_t minimum) override;
    void received(std::size_t octets, std::int64_t now_ns) override;
    void peer_closed(std::int64_t now_ns) override;
    void lost(const std::string& why, std::int64_t now_ns) override;
    void tick(std::int64_t now_ns) override;
    Output output(std::int64_t now_ns) override;
    void sent(std::size_t octets, std::int64_t now_ns) override;
    /// What is owed IRD bounds; but a message may wait for a receive.
    bool receive_paused() const override { return waits_for_receive() && closing_ == Closing::no; }
    Closing closing() const override { return closing_; }
    std::optional<std::int64_t> deadline_ns() const override;

    // The side of queue pair, listener and connection request.
    void attention() { device_.transport->attention(*this); }
    void disconnect();
    void abort(const std::string& why);
    /// The queue pair goes: no more of it is to be touched.
    void abandon();
    /// It begins anew, while a Terminate of its last connection is still under way.
    void detach() { pair_ = nullptr; }
    void fail(const std::string& why);
    /// The receive that a message was being placed into; told once.
    std::optional<std::uint64_t> take_unfinished_receive();
    void withdraw(std::span<const std::byte> memory);
    bool waits_for_answer() const { return phase_ == Phase::requested; }
    /// Only while it waits.
    const mpa::Handshake& handshake() const { return *handshake_; }
    void accept(QueuePair::Impl& pair, const ConnectionOptions& options);
    void reject(std::span<const std::byte> private_data);
    /// A message has come that finds no receive posted (ConnectionOptions::receive_patience).
    bool waits_for_receive() const { return phase_ == Phase::operating && flow_->reader.paused(); }
    /// It stands no longer among those that wait for a receive of a shared queue.
    void leave_line();
    /// There is one.
    void receive_posted();
    /// The listener goes; what it has not answered is rejected.
    void forget_listener();
    const std::string& peer() const { return peer_; }
    const Listener::Impl* listener() const { return listener_; }

    std::string target;  ///< whom the user asked for, in error messages
    bool asked = false;  ///< an event with its request waits to be seen

private:
    static constexpr std::uint64_t no_ticket = ~std::uint64_t{0};
    static constexpr std::size_t nowhere = ~std::size_t{0};
    enum class Phase : std::uint8_t {
        connecting,   ///< TCP
        exchanging,   ///< start frames
        requested,    ///< responder: the user has not answered yet
        replying,     ///< responder: an accepting Reply is under way
        refusing,     ///< responder: a rejecting one is, then nothing more comes
        operating,    ///< FPDUs
        terminating,  ///< what is received is dropped; a Terminate is under way, has come, or can be sent no more
        over,
    };
    /// What there is of a connection only while FPDUs pass.
    struct Flow {
        Flow(Connection& connection, QueuePair::Impl& pair, const mpa::Terms& terms);
        rdmap::OwedResponses owed;
        rdmap::OutstandingRequests outstanding;
        rdmap::Inbound inbound;
        rdmap::Outbound outbound;
        mpa::FpduReader reader;
    };
    /// Every call from the transport or from above that may change something: the connection outlives it, and what
    /// followed from it is settled at its end.
    class Entry {
    public:
        Entry(Connection& connection, std::int64_t now_ns)
            : connection_(connection), alive_(connection.shared_from_this()), scope_(connection.device_) {
            connection.now_ns_ = now_ns;
        }
        explicit Entry(Connection& connection) : Entry(connection, connection.device_.transport->now_ns()) {}
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;
        ~Entry() { connection_.settle(); }

    private:
        Connection& connection_;
        std::shared_ptr<Stream> alive_;
        Device::Impl::Scope scope_;
    };

    // rdmap::InboundEvents
    void delivered(const rdmap::Delivered&) override;
    void answered(const rdmap::OutstandingRequest&, Status) override;
    void response_owed() override {}
    void terminated(const Terminate&) override;
    void receive_limit() override;
    void first_fpdu() override;
    // rdmap::OutboundEvents
    void withdrawn(std::span<const std::byte> memory) override;
    // mpa::SegmentSink: Inbound, as long as the stream stands
    wire::Result<mpa::Target, Fault> begin_segment(wire::Bytes header, std::uint32_t payload_length) override;
    std::optional<Fault> end_segment() override;

    void take_start(wire::Bytes& octets);
    void ask_user();
    void begin_operating();
    void handshake_failed(std::string why, Failure kind = Failure::protocol);
    void refused();
    void start_ended(Failure kind, std::string why, Closing how, PeersAnswer answer = {});
    PeersAnswer peers_answer() const;
    void operate(wire::Bytes octets);
    void inbound_fault(const Fault& fault);
    void terminate(const Fault& fault, wire::Bytes body, const std::string& text, std::uint64_t ticket = no_ticket,
                   Status status = Status::flushed);
    void begin_close();
    void drop_the_rest(const std::string& why);
    void progressed();
    void fill();
    void count_sent();
    void check_outbound();
    void count_received();
    void taken(std::optional<Fault> fault);
    void go_on_receiving();
    void drained();
    void settle();
    bool starting() const { return phase_ < Phase::operating; }
    bool all_sent() const { return rescued_.empty() && batch_.empty(); }
    void rescue();
    bool may_keep_unsent() const;
    void close(Closing how);
    /// `ticket` completes with `status`, the rest is flushed.
    void end(Closing how, const std::string& text, std::uint64_t ticket = no_ticket, Status status = Status::flushed);
    /// The oldest request that has been begun, if any.
    std::uint64_t oldest_begun() const;
    void set_deadline(std::chrono::milliseconds after);
    void stand_in_line();
    void look_after_batch();
    std::uint64_t affected_by(const Terminate& why) const;
    Output one_piece(wire::Bytes octets);
    Agreement agreement_on(const mpa::Terms& terms) const;
    /// "192.0.2.1:4791", or what the user asked for.
    const std::string& name() const { return peer_.empty() ? target : peer_; }

    Device::Impl& device_;
    QueuePair::Impl* pair_ = nullptr;
    Listener::Impl* listener_ = nullptr;
    ConnectionOptions options_;
    std::string peer_;
    std::int64_t now_ns_;
    std::optional<std::int64_t> deadline_ns_;
    std::optional<std::int64_t> receive_until_ns_;  ///< how long a message waits for a receive
    std::optional<std::int64_t> shrink_ns_;         ///< when to look whether the batch's memory is still of use
    std::int64_t sent_ns_ = 0;
    std::uint32_t emss_ = 0;
    std::uint32_t max_ulpdu_ = 0;
    Phase phase_ = Phase::connecting;
    Closing closing_ = Closing::no;
    bool initiates_;
    bool counted_ = true;        ///< in the device's connections
    bool may_send_ = false;      ///< a responder waits for the first FPDU (RFC 5044 section 7.1.2)
    bool close_wanted_ = false;  ///< as soon as everything posted is sent
    bool peer_closed_ = false;
    bool unfinished_told_ = false;
    bool placing_ = false;  ///< between begin_segment and end_segment
    std::unique_ptr<mpa::Handshake> handshake_;
    std::unique_ptr<mpa::FpduWriter> writer_;
    mpa::Batch batch_{&device_.stages->account};
    std::size_t sending_place_ = nowhere;  ///< in Device::Impl::sending
    SharedReceiveQueue::Impl* line_ = nullptr;
    std::list<Connection*> standing_;  ///< its place in that line, while it stands in none
    std::list<Connection*>::iterator stands_at_;
    std::vector<std::byte> rescued_;  ///< copied from a batch whose memory had to be let go; leaves first
    std::size_t rescued_sent_ = 0;
    mpa::StreamMemory::Part rescued_part_{&device_.stages->account};
    wire::Bytes piece_;             ///< what output() shows, where it is no batch
    std::string ending_;            ///< why the stream was terminated
    std::uint64_t fpdus_sent_ = 0;  ///< as counted last
    std::uint64_t fpdus_received_ = 0;
    std::uint64_t payload_sent_ = 0;
    std::uint64_t reads_served_ = 0;
    std::unique_ptr<Flow> flow_;
};

}  // namespace iwarp::verbs
