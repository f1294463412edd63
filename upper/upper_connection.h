#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "upper/command_listener.h"
#include "upper/command_table.h"
#include "upper/connection_end.h"
#include "upper/connection_repairs.h"
#include "upper/connection_time.h"
#include "upper/rdma_message.h"
#include "upper/upper_protocol.h"

namespace upper {

class Flow;

/// Why a connection is assumed to carry its protocol. The first reason is the surest.
enum class Evidence : std::uint8_t { user, private_data, service, shape };
/// "private_data"
std::string_view name_of(Evidence evidence);
/// 0 to 1.
double confidence_of(Evidence evidence);

/// What a connection counts in addition to its commands.
struct ConnectionCounts {
    std::uint64_t operations = 0;          ///< READs and WRITEs of the target
    std::uint64_t unbound_operations = 0;  ///< `operations` that belong to no known command
    std::uint64_t late_operations = 0;     ///< `operations` that followed the response to their command
    std::uint64_t probes = 0;              ///< operations without bytes and without a key
    std::uint64_t events = 0;              ///< answers to commands that wait for events
    std::uint64_t overtaken = 0;           ///< commands that were answered before an older command
    std::uint32_t open_now = 0;
    std::uint32_t open_max = 0;
};

/// Two flows, with their upper layer and its commands. A flow whose peer is not known yet has a connection of its own.
class Connection {
public:
    Connection(std::uint64_t number, Listener& listener, CommandBudget& budget)
        : number_(number), listener_(listener), commands_(budget) {}

    // What is known about the connection.
    std::uint64_t number() const { return number_; }
    const Protocol* protocol() const { return protocol_; }
    Evidence evidence() const { return evidence_; }
    const ConnectionFacts& facts() const { return facts_; }
    const ConnectionCounts& counts() const { return counts_; }
    const ConnectionTime& time() const { return time_; }
    const Flow* flow(unsigned side) const { return flows_[side]; }
    Flow* flow(unsigned side) { return flows_[side]; }
    /// The side that sends requests; nullopt if unknown.
    std::optional<unsigned> initiator() const { return initiator_; }
    const Flow* initiator_flow() const { return initiator_ ? flows_[*initiator_] : nullptr; }
    /// The connection is not examined any more.
    bool is_ignored() const { return ignored_; }
    bool keeps_heads() const { return !ignored_; }
    std::int64_t last_seen_ns() const { return last_seen_ns_; }
    /// When the request of the oldest open command was sent. Commands that wait for an event do not count.
    std::optional<std::int64_t> oldest_open_ns();
    /// Calls `visit` with the time of the request of each open command, the oldest command first. Commands that wait
    /// for an event do not count.
    void visit_open(const std::function<void(std::int64_t)>& visit);
    /// What has passed of a command since its request.
    const Progress& progress(const Command& command) const { return commands_.progress_of(command); }
    /// What was sent again of a command; nullptr: nothing.
    const RepairMarks* repair_marks(const Command& command) const { return commands_.marks_of(command); }
    /// The reader will forget the connection.
    bool is_retired() const { return retired_; }
    /// The addresses of both hosts, the smaller one first; no value before a flow is known.
    using Hosts = std::pair<std::array<std::byte, 16>, std::array<std::byte, 16>>;
    std::optional<Hosts> hosts() const;

    // What the set-up and other connections add.
    void set_flow(unsigned side, Flow& flow);
    /// Takes over the only flow of another connection as its second flow, with what the other connection has kept.
    void join(Connection& other);
    void recognize(const Protocol& protocol, Evidence evidence, std::optional<unsigned> initiator,
                   const ConnectionFacts& facts);
    /// A port has named the protocol. SENDs must fit the protocol.
    void suppose(const Protocol& protocol, std::optional<unsigned> initiator);
    /// Other connections of the same protocol between the same hosts: their open commands may be asked again here.
    void set_former(std::vector<Connection*> former) { former_ = std::move(former); }
    /// The reader is about to forget connections for which `is_gone` holds.
    template <class IsGone>
    void release_former(const IsGone& is_gone) {
        std::erase_if(former_, is_gone);
    }
    /// Reads the private data of the accepting side.
    void take_reply(base::Bytes data);

    // What the flows report.
    void send(unsigned side, Message& message, base::Bytes head);
    void data_begins(unsigned side, Message& message);
    void data_ends(unsigned side, Message& message, base::Bytes head);
    /// The end of a message is later because packets were sent again. `began_again`: the first packet was among them.
    void moved(unsigned side, const Message& message, std::int64_t time_ns, bool began_again);
    void touched_by_repair(const Message& message, std::uint32_t repair, bool own);
    void acknowledged(unsigned side, std::int64_t time_ns);
    /// Notes the end of a packet of either flow.
    void seen(std::int64_t time_ns) { last_seen_ns_ = time_ns; }

    Repairs& repairs() { return repairs_; }

    /// Ends all commands, and reports them to the listener.
    void end();
    void retire() {
        end();
        retired_ = true;
    }

private:
    /// Answered commands after which a guess by shape counts as right.
    static constexpr unsigned answered_of_shape = 3;
    static constexpr std::size_t max_misfits = 8;
    /// Parts of a stream after which the guess of a stream counts as right.
    static constexpr std::size_t announced_of_stream = 4;
    static constexpr std::uint64_t small_write_bytes = 64;  ///< the largest WRITE that may be a control message
    static constexpr std::size_t max_kept_sends = 64;
    static constexpr std::size_t max_kept_messages = 128;
    /// Messages without a known protocol, after which the connection is ignored.
    static constexpr std::uint64_t max_messages_without = 1024;
    static constexpr std::uint64_t octets_of_shape = 40;  ///< bytes of a SEND that are needed to guess its shape
    static constexpr std::size_t partial_bytes = 1152;    ///< bytes that are kept of a message in several SENDs
    static constexpr std::size_t max_fragments = 64;  ///< fragments of a message whose repairs count for its command
    static constexpr std::size_t max_acknowledged = 256;  ///< most messages that one SEND can answer
    static constexpr unsigned max_parts = 32;             ///< most commands that are read from one message
    /// Bound on answered commands whose response may not have arrived.
    static constexpr std::uint32_t max_unsettled = 256;

    /// Each side numbers its commands separately.
    static constexpr std::uint64_t reverse_ids = std::uint64_t{1} << 63;

    struct Kept {
        unsigned side = 0;
        Message message = {};
        std::vector<std::byte> head = {};
    };

    void keep(unsigned side, const Message& message, base::Bytes head);
    void keep_end(unsigned side, const Message& message);
    void forget_kept();
    void try_shapes();
    bool try_streams();
    std::size_t count_announced(const Protocol& protocol) const;
    unsigned count_answers(const Protocol& protocol, unsigned initiator) const;
    std::size_t count_either(const Protocol& protocol) const;
    void replay();
    void ignore();

    /// An upper message in several SENDs, until the last SEND has passed.
    struct Partial {
        Message message = {};
        std::vector<std::byte> head = {};  ///< the first bytes of the upper message, without a gap
        bool is_gapless = true;
        std::uint64_t remaining = 0;  ///< bytes that are still to come; 0: there is no unfinished message
        std::vector<std::uint64_t> begins = {};
        std::optional<std::uint64_t> number = {};
    };
    /// A message, or one part of a message. `shown`: the bytes that describe the message; empty for parts after the
    /// first.
    struct Part {
        base::Bytes head = {};
        std::uint64_t length = 0;
        base::Bytes shown = {};
    };

    void take_send(unsigned side, Message& message, base::Bytes head);
    bool take_fragment(unsigned side, Message& message, base::Bytes head);
    void add_fragment(Partial& partial, const Message& message, const Fragment& fragment, base::Bytes head) const;
    void take_whole(unsigned side, Message& message, base::Bytes head, base::Bytes shown);
    void take_acknowledgement(unsigned side, Message& message, base::Bytes head);
    void take_write(unsigned side, Message& message, base::Bytes head);
    void take_part(unsigned side, Message& message, const Part& part);
    void take_credits(const Said& said);
    void misfit();
    void take_request(Message& message, base::Bytes head, const Said& said);
    void take_response(Message& message, const Part& part, const Said& said);
    void take_interim(const Message& message, base::Bytes head, const Said& said);
    void take_orphan(Message& message, base::Bytes head, const Said& said);
    void take_moved_message(Command& command, bool out, base::Bytes head);
    void remember_abort(const Command& command, std::uint64_t aborted);
    void take_aborted(const Command& answered);
    void fill_response(Command& command, const Message& message, const Said& said);
    Command* find_command(const CommandRef& ref);
    struct Owner {
        Command* command = nullptr;
        const KeptGrant* grant = nullptr;
        bool is_late = false;  ///< the command had been answered before the message
    };
    bool precedes_response(const Message& message, const Command& command) const;
    Owner owner_of(const Message& message, bool is_read);
    Command* only_cut_command(const Message& message);
    void take_asked_again(std::uint64_t id);
    /// Gives up the oldest command if there is no room for another. False if there is still no room.
    bool make_room();
    bool has_no_room() const;
    void count_open(const Command& command, std::int64_t time_ns);
    void count_closed(const Command& command, std::int64_t time_ns);
    void report_host_times();
    void settle(bool all);
    void finish(Command& command, CommandEnd end);
    CommandParts parts_until_now(const Command& command) const;
    void measure_repairs(const Command& command, const CommandParts& parts, FinishedCommand& finished) const;
    void note(const MessageNote& note) {
        if (!replaying_) listener_.message(note);
    }

    std::uint64_t number_;
    Listener& listener_;
    std::array<Flow*, 2> flows_ = {};
    const Protocol* protocol_ = nullptr;
    Evidence evidence_ = Evidence::shape;
    std::optional<unsigned> initiator_ = {};
    ConnectionFacts facts_ = {};
    bool ignored_ = false;
    bool confirmed_ = false;  ///< the protocol is certain: a SEND fitted, or the evidence suffices
    bool replaying_ = false;
    bool has_reverse_ = false;  ///< the target has sent requests too
    bool ended_ = false;
    bool retired_ = false;
    std::size_t misfits_ = 0;
    std::uint64_t messages_ = 0;  ///< messages before the protocol was known
    std::size_t kept_sends_ = 0;
    std::vector<Kept> kept_ = {};
    std::unique_ptr<std::array<Partial, 2>> partials_ = {};  ///< absent before the first message in several SENDs
    std::array<std::uint64_t, 2> acknowledged_ids_ = {};  ///< the greatest identifier that each side has acknowledged

    std::vector<Connection*> former_ = {};  ///< with open commands; empty once no more of them can be asked again
    CommandTable commands_;
    std::uint64_t command_count_ = 0;
    std::uint32_t unsettled_ = 0;
    ConnectionCounts counts_ = {};
    ConnectionTime time_ = {};
    std::int64_t last_seen_ns_ = 0;
    /// A request to abort a command: its serial number, and the other command's identifier.
    struct Abort {
        std::uint32_t serial = 0;
        std::uint64_t id = 0;
    };
    static constexpr std::size_t max_aborts = 64;
    std::vector<Abort> aborts_ = {};  ///< without an answer
    Repairs repairs_ = {};
};

}  // namespace upper
