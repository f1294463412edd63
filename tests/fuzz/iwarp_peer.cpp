/// Fuzz target `iwarp_peer`: a whole device, as responder or initiator, against a peer that sends what the input says,
/// while its user posts, invalidates and leaves. Whatever comes: no memory but what the peer was given changes, and
/// what the stack sends is well-formed. Memory lies between guard pages.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "iwarp/iwarp.h"
#include "iwarp/transport/memory_network.h"
#include "iwarp/verbs/device.h"
#include "tests/fuzz/iwarp_input.h"
#include "tests/fuzz/target.h"
#include "tests/script/runner/framing.h"
#include "tests/script/runner/guarded_memory.h"
#include "tests/script/runner/mpa_frames.h"

namespace {

namespace input = fuzz::peer_input;
using iwarp::Access;
using script::Octets;

constexpr std::uint16_t port = 7;
constexpr std::size_t region_size = 512;

void require(bool holds) {
    if (!holds) std::abort();
}

/// Made once: mapping pages for every input would be most of the work.
struct Memory {
    script::GuardedMemory writable{region_size};
    script::GuardedMemory readable{region_size};
    script::GuardedMemory atomic{region_size};
    script::GuardedMemory windowed{region_size};
    script::GuardedMemory local{region_size};
    script::GuardedMemory foreign{region_size};
    script::GuardedMemory receives{4 * region_size};
};

/// Reads what the stack sends as the scripts do: every octet must have its place.
class Reader {
public:
    explicit Reader(bool initiator) : initiator_(initiator) {}
    void take(const Octets& octets, bool crc_by_peer, bool markers) {
        script::put(stream_, octets);
        if (!start_) {
            start_ = script::take_start_frame(stream_);
            if (!start_) return;
            require(start_->reply() != initiator_);
            framing_ = {start_->crc || crc_by_peer, markers};
        }
        while (const auto ulpdu = script::take_fpdu(stream_, framing_)) judge(script::decode(*ulpdu));
    }
    const std::optional<script::StartFrame>& start() const { return start_; }

private:
    void judge(const script::Segment& segment) {
        require(!terminated_ && !start_->rejected);
        const script::Kind* kind = script::kind_of(segment.opcode);
        require(kind != nullptr && segment.ddp_version == 1 && segment.rdmap_version == 1);
        require(segment.reserved == 0 && segment.rdmap_reserved == 0 && kind->tagged == segment.tagged);
        require(segment.tagged || kind->queue == segment.queue);
        if (kind->name != "terminate") return;
        terminated_ = true;
        const auto message = script::decode_terminate(segment.payload);
        require(message.layer <= 2 && message.beyond.empty() && message.reserved == 0 && segment.last);
    }

    bool initiator_;
    bool terminated_ = false;
    Octets stream_;
    std::optional<script::StartFrame> start_;
    script::Framing framing_;
};

class Conversation {
public:
    Conversation(Memory& memory, std::span<const std::uint8_t> choices)
        : memory_(memory), choices_(choices[0]), reader_(chosen(input::initiator)) {
        iwarp::transport::Impairment impairment;
        impairment.chunk = choices[1];
        impairment.random_chunks = choices[1] > 1;
        impairment.seed = choices[2];
        impairment.emss = choices[1] % 2 == 0 ? 1448 : 400;
        network_ = iwarp::transport::MemoryNetwork::make(impairment);
        iwarp::DeviceOptions options;
        options.max_regions = 64;
        options.max_queue_pairs = 8;
        options.max_connections = 8;
        device_ = iwarp::verbs::make_device(options, network_->attach("stack"));
        make_memory();
        make_queue_pair();
    }
    ~Conversation() {
        peer_.reset();
        run();
    }

    void play(std::span<const std::uint8_t> records) {
        script::StartFrame frame;
        frame.crc = chosen(input::crc);
        frame.ird = frame.ord = 4;
        frame.markers = chosen(input::peer_markers);
        frame.revision = chosen(input::plain) ? 1 : 2;
        frame.enhanced = !chosen(input::plain);
        frame.peer_to_peer = frame.write = frame.read = frame.send = chosen(input::peer_to_peer);
        if (chosen(input::initiator)) frame.key = "MPA ID Rep Frame";
        Octets start = script::encode(frame);
        if (const auto first = next(records, true)) {
            start.resize(16);
            script::put(start, *first);
        }
        begin(start);
        for (int count = 0; count < 64; ++count) {
            const std::optional<Octets> record = next(records, false);
            if (!record) break;
            perform(*record);
            listen_to_stack();
        }
        finish();
    }

private:
    bool chosen(std::uint8_t bit) const { return (choices_ & bit) != 0; }

    void make_memory() {
        domain_ = device_->allocate_protection_domain();
        other_domain_ = device_->allocate_protection_domain();
        const Access local = Access::local_write | Access::zero_based;
        const auto make = [&](script::GuardedMemory& memory, Access access) {
            return domain_->register_memory(memory.octets(), access);
        };
        regions_[input::writable] = make(memory_.writable, local | Access::remote_write);
        regions_[input::readable] = make(memory_.readable, Access::zero_based | Access::remote_read);
        regions_[input::atomic] = make(memory_.atomic, local | Access::remote_atomic);
        regions_[input::local] = make(memory_.local, local);
        windowed_ = make(memory_.windowed, local | Access::bind);
        receives_ = make(memory_.receives, local);
        regions_[input::foreign] = other_domain_->register_memory(
            memory_.foreign.octets(), local | Access::remote_write | Access::remote_read | Access::remote_atomic);
        windows_[0] = domain_->allocate_window(1);
        windows_[1] = domain_->allocate_window(2);
        windows_[0]->bind(*windowed_, memory_.windowed.octets().data(), region_size / 4,
                          Access::remote_write | Access::remote_read | Access::zero_based);
    }

    void make_queue_pair() {
        completions_ = device_->create_completion_queue(32);
        if (chosen(input::shared_receives)) shared_ = device_->create_shared_receive_queue(domain_, 16);
        iwarp::QueuePairOptions options;
        options.max_send = options.max_receive = 16;
        queue_pair_ = device_->create_queue_pair(domain_, completions_, completions_, options, shared_);
        for (int i = 0; i < 3; ++i) post_receive(static_cast<std::uint8_t>(i));
    }

    iwarp::ConnectionOptions options() const {
        iwarp::ConnectionOptions options;
        options.revision = chosen(input::plain) ? 1 : 2;
        options.crc = chosen(input::crc);
        options.markers = chosen(input::stack_markers);
        options.strict = chosen(input::strict);
        options.peer_to_peer = chosen(input::peer_to_peer) && !chosen(input::plain);
        options.ird = options.ord = 4;
        return options;
    }

    void begin(const Octets& start) {
        if (chosen(input::initiator)) {
            network_->listen_raw("peer", port);
            queue_pair_->connect("peer", port, options());
            run();
            peer_ = network_->accept_raw("peer", port);
        } else {
            listener_ = device_->listen("stack", port, options());
            peer_ = network_->connect_raw("stack", port);
            run();
        }
        require(peer_ != nullptr);
        // What the peer's frame says, as far as it is one, decides what it expects of the stack.
        Octets copy = start;
        try {
            ours_ = script::take_start_frame(copy);
        } catch (const script::Failure&) {
        }
        listen_to_stack();
        begun_ = true;
        peer_->send(start);
        run();
        listen_to_stack();
        const auto& theirs = reader_.start();
        framing_.crc = (ours_ && ours_->crc) || (theirs && theirs->crc);
        framing_.markers = theirs && theirs->markers;
    }

    /// The next record, kind first; `start`: only if it is a start frame's, without its kind.
    static std::optional<Octets> next(std::span<const std::uint8_t>& records, bool start) {
        if (records.size() < 3) return std::nullopt;
        const auto kind = static_cast<std::uint8_t>(records[0] % input::record_kinds);
        if (start && kind != input::start) return std::nullopt;
        const std::size_t wish = records[1] | static_cast<std::size_t>(records[2]) << 8;
        const auto part = records.subspan(3, std::min(wish, records.size() - 3));
        records = records.subspan(3 + part.size());
        Octets octets;
        if (!start) octets.push_back(static_cast<std::byte>(kind));
        for (const std::uint8_t octet : part) octets.push_back(static_cast<std::byte>(octet));
        return octets;
    }

    void perform(const Octets& record) {
        const auto number = [&record](std::size_t at) {
            return at < record.size() ? std::to_integer<std::uint8_t>(record[at]) : std::uint8_t{0};
        };
        Octets octets(record.begin() + 1, record.end());
        switch (number(0)) {
            case input::octets: peer_->send(octets); break;
            case input::named_ulpdu:
                if (octets.size() < 2) return;
                name_stag(octets, number(1), number(2));
                [[fallthrough]];
            case input::ulpdu: peer_->send(script::encode_fpdu(octets, framing_, {})); break;
            case input::user: act(static_cast<std::uint8_t>(number(1) % input::actions), number(2)); break;
            case input::fin: peer_->close(); break;
            case input::reset: peer_->reset(); break;
            default: break;
        }
        run();
    }

    std::uint32_t stag_of(std::uint8_t name) const {
        if (name == input::window_1 || name == input::window_2) return windows_[name - input::window_1]->stag();
        return regions_[name] ? regions_[name]->stag() : 0;
    }
    /// The input cannot know which STags the stack gives; it says which it means, and where it stands.
    void name_stag(Octets& octets, std::uint8_t name, std::uint8_t place) const {
        octets.erase(octets.begin(), octets.begin() + 2);
        if (octets.size() < 4 || place > octets.size() - 4) return;
        base::store_be32(octets.data() + place, stag_of(static_cast<std::uint8_t>(name % input::names)));
    }

    iwarp::Sge piece(const std::shared_ptr<iwarp::MemoryRegion>& region, std::uint8_t number) const {
        const std::uint32_t first = number % 16 * 16u;
        const std::uint32_t length = number == 0 ? 0 : 8 + number / 16 * 16u;
        if (!region) return {};
        return {region->address() + first, std::min<std::uint32_t>(length, region_size - first), region->stag()};
    }

    void post_receive(std::uint8_t number) {
        if (!queue_pair_ || !receives_) return;
        const std::array pieces{
            iwarp::Sge{receives_->address() + number % 4u * region_size, region_size / 4, receives_->stag()},
            iwarp::Sge{receives_->address() + number % 4u * region_size + region_size / 2, number, receives_->stag()}};
        const iwarp::ReceiveRequest request{number, pieces};
        static_cast<void>(shared_ ? shared_->post_receive(request) : queue_pair_->post_receive(request));
    }

    void post(iwarp::SendRequest request, const iwarp::Sge& place) {
        if (!queue_pair_) return;
        request.pieces = {&place, 1};
        static_cast<void>(queue_pair_->post_send(request));
    }

    void act(std::uint8_t action, std::uint8_t number) {
        using iwarp::Operation;
        iwarp::SendRequest request;
        request.id = number;
        request.remote_stag = 0x1234;
        request.remote_offset = number;
        request.fence = number % 5 == 1;
        request.signalled = number % 3 != 1;
        request.solicited = number % 7 == 1;
        const iwarp::Sge local = piece(regions_[input::local], number);
        const iwarp::Sge eight{local.address, local.address != nullptr ? 8u : 0u, local.stag};
        switch (action) {
            case input::post_receive: return post_receive(number);
            case input::post_send: request.inline_data = number % 2 == 1; return post(request, local);
            case input::post_write: request.operation = Operation::write; return post(request, local);
            case input::post_read:
                request.operation = Operation::read;
                request.invalidate = number % 11 == 1;
                return post(request, local);
            case input::post_atomic:
                request.operation = number % 2 == 0 ? Operation::fetch_add : Operation::compare_swap;
                return post(request, eight);
            case input::post_immediate:
                request.operation = number % 2 == 0 ? Operation::immediate : Operation::write_immediate;
                return post(request, number % 2 == 0 ? iwarp::Sge{} : local);
            case input::bind_window: return bind(request, number);
            case input::local_invalidate:
                request.operation = Operation::local_invalidate;
                request.invalidate_stag = stag_of(static_cast<std::uint8_t>(number % input::names));
                if (queue_pair_) static_cast<void>(queue_pair_->post_send(request));
                return;
            case input::disconnect:
                if (queue_pair_) queue_pair_->disconnect();
                return;
            case input::abort_connection:
                if (queue_pair_) queue_pair_->abort();
                return;
            case input::poll: return poll();
            case input::advance: return network_->advance(std::int64_t{number} * 100'000'000);
            case input::deregister: regions_[number % regions_.size()].reset(); return;
            default: queue_pair_.reset(); return;
        }
    }

    void bind(iwarp::SendRequest request, std::uint8_t number) {
        if (!queue_pair_) return;
        request.operation = iwarp::Operation::bind_window;
        request.window = windows_[1].get();
        request.region = windowed_.get();
        request.address = memory_.windowed.octets().data() + region_size / 2;
        request.length = number;
        request.access = Access::remote_write | Access::zero_based;
        static_cast<void>(queue_pair_->post_send(request));
    }

    void poll() {
        std::array<iwarp::Completion, 8> out;
        const std::size_t count = completions_->poll(out);
        require(count <= out.size());
    }

    void run() {
        network_->run();
        while (auto event = device_->next_event()) {
            if (!event->request) continue;
            if (!queue_pair_ || queue_pair_->state() != iwarp::QueuePairState::idle)
                event->request->reject();
            else
                event->request->accept(queue_pair_, options());
            network_->run();
        }
    }

    void listen_to_stack() {
        // With a start frame that only later octets complete nobody here knows what was agreed.
        if (peer_->peer_reset() || (begun_ && !ours_)) return;
        reader_.take(peer_->take(), ours_ && ours_->crc, ours_ && ours_->markers);
    }

    /// Time passes until nothing is left to wait for; then memory is looked at.
    void finish() {
        peer_->close();
        for (int second = 0; second < 12; ++second) {
            run();
            network_->advance(1'000'000'000);
        }
        run();
        listen_to_stack();
        if (queue_pair_) require(queue_pair_->state() != iwarp::QueuePairState::connected);
        // What the peer may write to, and what the user had written to, may have changed; all else may not.
        const auto changeable = [](script::GuardedMemory& memory, std::size_t first, std::size_t length) {
            memory.accept(first, memory.octets().subspan(first, length));
        };
        changeable(memory_.writable, 0, region_size);
        changeable(memory_.atomic, 0, region_size);
        changeable(memory_.windowed, 0, region_size / 4);
        changeable(memory_.windowed, region_size / 2, 255);
        changeable(memory_.local, 0, region_size);
        for (std::size_t i = 0; i < 4; ++i) {
            changeable(memory_.receives, i * region_size, region_size / 4);
            changeable(memory_.receives, i * region_size + region_size / 2, 255);
        }
        for (const script::GuardedMemory* memory :
             {&memory_.writable, &memory_.readable, &memory_.atomic, &memory_.windowed, &memory_.local,
              &memory_.foreign, &memory_.receives})
            require(memory->unexpected_change().empty());
    }

    Memory& memory_;
    std::uint8_t choices_;
    Reader reader_;
    std::shared_ptr<iwarp::transport::MemoryNetwork> network_;
    std::shared_ptr<iwarp::Device> device_;
    std::shared_ptr<iwarp::ProtectionDomain> domain_;
    std::shared_ptr<iwarp::ProtectionDomain> other_domain_;
    std::array<std::shared_ptr<iwarp::MemoryRegion>, input::names> regions_;
    std::shared_ptr<iwarp::MemoryRegion> windowed_;
    std::shared_ptr<iwarp::MemoryRegion> receives_;
    std::array<std::shared_ptr<iwarp::MemoryWindow>, 2> windows_;
    std::shared_ptr<iwarp::CompletionQueue> completions_;
    std::shared_ptr<iwarp::SharedReceiveQueue> shared_;
    std::shared_ptr<iwarp::QueuePair> queue_pair_;
    std::shared_ptr<iwarp::Listener> listener_;
    std::unique_ptr<iwarp::transport::MemoryNetwork::RawPeer> peer_;
    std::optional<script::StartFrame> ours_;
    script::Framing framing_;
    bool begun_ = false;  ///< the peer's start frame was sent
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Memory memory;
    if (size < input::header) return 0;
    const std::span<const std::uint8_t> all(data, size);
    Conversation(memory, all.first(input::header)).play(all.subspan(input::header));
    return 0;
}
