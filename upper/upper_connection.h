#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "upper/command_listener.h"
#include "upper/command_table.h"
#include "upper/connection_end.h"
#include "upper/rdma_message.h"
#include "upper/upper_protocol.h"

namespace upper {

class Flow;

/// Why a connection is taken for one of its protocol; the first is the surest.
enum class Evidence : std::uint8_t { user, private_data, service, shape };
/// "private_data"
std::string_view name_of(Evidence evidence);
/// 0 to 1.
double confidence_of(Evidence evidence);

/// What the time of a connection was spent with, from its first to its last command: by the oldest open command.
enum class IoState : std::uint8_t { host, request, target, data, response, repair };
inline constexpr std::size_t io_state_count = 6;
/// "host"
std::string_view name_of(IoState state);

/// What a connection counts besides its commands.
struct ConnectionCounts {
    std::uint64_t operations = 0;          ///< READs and WRITEs of the target
    std::uint64_t unbound_operations = 0;  ///< of them, of no command that is known
    std::uint64_t late_operations = 0;     ///< of them, of a command that had been answered
    std::uint64_t probes = 0;              ///< of no bytes and without a key
    std::uint64_t events = 0;              ///< answers to commands that wait for events
    std::uint64_t overtaken = 0;           ///< commands answered before an older one
    std::uint64_t at_limit_ns = 0;
    std::uint32_t open_now = 0;
    std::uint32_t open_max = 0;
    std::array<std::uint64_t, io_state_count> state_ns = {};
    std::optional<std::int64_t> first_ns = {};  ///< of the first command
    std::int64_t last_ns = 0;                   ///< of the last one's end
};

/// Time in which packets of a flow were sent again, from its last packet that was new to its last one of the recovery.
struct Repair {
    std::uint32_t serial = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    bool is_sure = false;  ///< no mere change of order
};

/// Two flows, and what is said on them: which upper layer, and its commands. A flow whose peer is not known yet has a
/// connection of its own.
class Connection {
public:
    Connection(std::uint64_t number, Listener& listener, CommandBudget& budget)
        : number_(number), listener_(listener), commands_(budget) {}

    // What is known.
    std::uint64_t number() const { return number_; }
    const Protocol* protocol() const { return protocol_; }
    Evidence evidence() const { return evidence_; }
    const ConnectionFacts& facts() const { return facts_; }
    const ConnectionCounts& counts() const { return counts_; }
    const Flow* flow(unsigned side) const { return flows_[side]; }
    Flow* flow(unsigned side) { return flows_[side]; }
    /// The side that asks; nullopt where it is not known.
    std::optional<unsigned> initiator() const { return initiator_; }
    const Flow* initiator_flow() const { return initiator_ ? flows_[*initiator_] : nullptr; }
    /// Nothing of it is of interest any more.
    bool is_ignored() const { return ignored_; }
    bool keeps_heads() const { return !ignored_; }
    std::int64_t last_seen_ns() const { return last_seen_ns_; }
    /// When the oldest command that is open was asked; those that wait for an event do not count.
    std::optional<std::int64_t> oldest_open_ns();
    /// Its reader is about to forget it.
    bool is_retired() const { return retired_; }

    // What is learnt.
    void set_flow(unsigned side, Flow& flow);
    /// Takes the only flow of another connection as its own second one, with what that has kept.
    void join(Connection& other);
    void recognize(const Protocol& protocol, Evidence evidence, std::optional<unsigned> initiator,
                   const ConnectionFacts& facts);
    /// A port has named the protocol; its SENDs have to fit.
    void suppose(const Protocol& protocol, std::optional<unsigned> initiator);
    /// The accepting side's private data.
    void take_reply(base::Bytes data);

    // What passes, from the flows.
    void send(unsigned side, Message& message, base::Bytes head);
    void data_begins(unsigned side, Message& message);
    void data_ends(unsigned side, Message& message, base::Bytes head);
    /// A message whose end is put off since packets were sent again; `began_again`: its first packet was.
    void moved(unsigned side, const Message& message, std::int64_t time_ns, bool began_again);
    void touched_by_repair(const Message& message, std::uint32_t repair, bool own);
    void acknowledged(unsigned side, std::int64_t time_ns);
    /// A message of a connection whose protocol is not known.
    void seen(std::int64_t time_ns) { last_seen_ns_ = time_ns; }

    Repair& begin_repair(std::int64_t begin_ns);
    Repair* find_repair(std::uint32_t serial);

    /// Ends all commands; the listener has the last of it.
    void end();
    void retire() {
        end();
        retired_ = true;
    }

private:
    static constexpr unsigned answered_of_shape = 3;  ///< responses that answer, for a shape to be believed
    static constexpr std::size_t max_misfits = 8;
    static constexpr std::size_t announced_of_stream = 4;   ///< parts of a stream, for it to be believed
    static constexpr std::uint64_t small_write_bytes = 64;  ///< a WRITE that may be a message of control
    static constexpr std::size_t max_kept_sends = 64;
    static constexpr std::size_t max_kept_messages = 128;
    static constexpr std::uint64_t max_messages_without = 1024;  ///< of any kind, until a connection is ignored
    static constexpr std::uint64_t octets_of_shape = 40;         ///< that a SEND needs for its shape to be seen
    static constexpr std::size_t kept_repairs = 64;
    static constexpr std::size_t partial_bytes = 1152;    ///< that are kept of a message in several SENDs
    static constexpr std::size_t max_fragments = 64;      ///< whose repairs are charged to the message's command
    static constexpr std::size_t max_acknowledged = 256;  ///< messages that one SEND answers at most
    static constexpr unsigned max_parts = 32;             ///< commands that are read of one message
    /// Answered commands whose response is not known to have arrived.
    static constexpr std::uint32_t max_unsettled = 256;

    /// Sides number their commands apart.
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

    /// An upper message that takes several SENDs, until its last one has passed.
    struct Partial {
        Message message = {};
        std::vector<std::byte> head = {};  ///< of the upper message alone, without a gap
        bool is_gapless = true;
        std::uint64_t remaining = 0;  ///< bytes that are still to come; 0: no message is begun
        std::vector<std::uint64_t> begins = {};
        std::optional<std::uint64_t> number = {};
    };
    /// A message, or one part of it. `shown`: what describes it; empty for parts after the first.
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
    void fill_response(Command& command, const Message& message, const Said& said);
    Command* find_command(const CommandRef& ref);
    Command* owner_of(const Message& message, bool is_read, const Grant*& granted);
    /// Gives up the oldest command where there is no room for another; false where that is not enough.
    bool make_room();
    void count_open(const Command& command, std::int64_t time_ns);
    void count_closed(const Command& command, std::int64_t time_ns);
    void settle(bool all);
    void finish(Command& command, CommandEnd end);
    void account(const Command& command, const CommandParts& parts);
    void spend(IoState state, std::int64_t begin_ns, std::int64_t end_ns);
    std::uint64_t repaired_ns(std::int64_t begin_ns, std::int64_t end_ns) const;
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
    bool confirmed_ = false;  ///< a SEND fitted, or nothing else is needed
    bool replaying_ = false;
    bool has_reverse_ = false;  ///< the target has asked as well
    bool ended_ = false;
    bool retired_ = false;
    std::size_t misfits_ = 0;
    std::uint64_t messages_ = 0;  ///< before a protocol was known
    std::size_t kept_sends_ = 0;
    std::vector<Kept> kept_ = {};
    std::array<Partial, 2> partials_ = {};
    std::array<std::uint64_t, 2> acknowledged_ids_ = {};  ///< by each side, of the other's

    CommandTable commands_;
    std::uint64_t command_count_ = 0;
    std::uint32_t unsettled_ = 0;
    ConnectionCounts counts_ = {};
    std::int64_t at_limit_since_ns_ = 0;
    bool at_limit_ = false;
    std::int64_t cursor_ns_ = 0;  ///< of the account of time
    std::int64_t last_seen_ns_ = 0;
    std::vector<Repair> repairs_ = {};  ///< by serial; none until there is one
    std::uint32_t repair_serial_ = 0;
};

}  // namespace upper
