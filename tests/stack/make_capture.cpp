#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "iwarp/verbs/device.h"
#include "tcp_frames.h"
#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"

// make_capture FOLDER: the stack's own traffic, every operation under every setting, as pcap files; and next to each,
// as JSON, what the programs on both ends did. See read_by_others.py.
namespace {

using namespace iwarp;
using stack::TcpFrames;
using transport::Impairment;
using transport::MemoryNetwork;
using Json = nlohmann::json;
using Memory = std::vector<std::byte>;

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::size_t memory_octets = 80'000;
constexpr std::uint16_t port = 7174;

void require(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
}

Access everything() {
    return Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic | Access::bind;
}

/// What one side asked for, by the names of docs/metrics.md.
class Ledger {
public:
    void add(const std::string& operation, std::uint64_t octets) {
        Json& one = counts_[operation];
        if (one.is_null()) one = {{"count", 0}, {"bytes", 0}};
        one["count"] = one["count"].get<std::uint64_t>() + 1;
        one["bytes"] = one["bytes"].get<std::uint64_t>() + octets;
    }
    Json counts() const { return counts_; }

private:
    Json counts_ = Json::object();
};

class Side {
public:
    Side(const std::shared_ptr<MemoryNetwork>& network, const std::string& name)
        : device(verbs::make_device({}, network->attach(name))),
          domain(device->allocate_protection_domain()),
          completions(device->create_completion_queue(4096)),
          pair(device->create_queue_pair(domain, completions, completions)),
          memory_(memory_octets) {
        for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::byte>(i * 7 + i / 256);
        region = domain->register_memory(memory_, everything());
    }
    Sge piece(std::uint32_t size, std::size_t from = 0) const {
        return {region->address() + from, size, region->stag()};
    }
    std::shared_ptr<MemoryRegion> another() const { return domain->register_memory(another_, everything()); }
    void receive(std::uint32_t size) {
        const Sge into = piece(size);
        require(pair->post_receive({1, {&into, 1}}) == Posted::ok, "a receive was refused");
    }
    void post(SendRequest request, std::uint32_t size, const std::string& operation, std::uint64_t counted) {
        const Sge from = piece(size, 8);
        if (size > 0) request.pieces = {&from, 1};
        const Posted posted = pair->post_send(request);
        require(posted == Posted::ok, operation + " was refused: " + name_of(posted));
        ledger.add(operation, counted);
    }
    std::vector<Event> events() const {
        std::vector<Event> all;
        while (auto event = device->next_event()) all.push_back(std::move(*event));
        return all;
    }
    /// Takes what completed; how many, and whether all of it well.
    std::pair<std::size_t, bool> completed() const {
        std::vector<Completion> all(completions->size());
        all.resize(completions->poll(all));
        return {all.size(),
                std::ranges::all_of(all, [](const Completion& one) { return one.status == Status::success; })};
    }

    std::shared_ptr<Device> device;
    std::shared_ptr<ProtectionDomain> domain;
    std::shared_ptr<CompletionQueue> completions;
    std::shared_ptr<QueuePair> pair;
    std::shared_ptr<MemoryRegion> region;
    Ledger ledger;

private:
    Memory memory_;
    mutable Memory another_ = Memory(64);
};

struct Setting {
    bool crc = true;
    bool markers_there = false;  ///< in what the client sends
    bool markers_back = false;
    std::uint8_t revision = 2;
    std::uint32_t segment = 1448;
    bool align = false;
    bool peer_to_peer = false;

    std::string name() const {
        return "revision " + std::to_string(revision) + ", segments of " + std::to_string(segment) +
               (align ? ", aligned" : "") + (peer_to_peer ? ", peer to peer" : "");
    }
    ConnectionOptions options(bool client) const {
        ConnectionOptions options;
        options.crc = crc;
        options.markers = client ? markers_back : markers_there;
        options.revision = revision;
        options.align = align;
        options.peer_to_peer = client && peer_to_peer;
        const char* words = client ? "from the client" : "from the server";
        for (const char* at = words; *at != '\0'; ++at) options.private_data.push_back(static_cast<std::byte>(*at));
        return options;
    }
};

/// One TCP connection of a file: two devices, or one and a peer made by hand.
class Connection {
public:
    Connection(TcpFrames& frames, Json& truth, std::string name, const Setting& setting)
        : setting_(setting),
          frames_(frames),
          truth_(truth),
          name_(std::move(name)),
          network_(MemoryNetwork::make(impairment())),
          client(network_, "client"),
          server(network_, "server") {
        frames_.begin({setting_.segment, impairment().delay_ns});
        network_->tap([this](const MemoryNetwork::Passed& passed) { frames_.passed(passed); });
        listener_ = server.device->listen("server", port, setting_.options(false));
    }
    void run() { network_->run(5 * second_ns); }
    /// The Request as far as the server; null where there is none.
    std::shared_ptr<ConnectionRequest> ask() {
        client.pair->connect("server", port, setting_.options(true));
        run();
        for (Event& event : server.events())
            if (event.kind == Event::Kind::connect_request) return event.request;
        throw std::runtime_error("no Request came");
    }
    void connect() {
        ask()->accept(server.pair, setting_.options(false));
        run();
        for (const Side* side : {&client, &server})
            require(side->pair->state() == QueuePairState::connected, "not connected");
        if (setting_.peer_to_peer) client.ledger.add("write", 0);
        static_cast<void>(client.events());
        static_cast<void>(server.events());
    }
    /// Everything posted so far completes, and well.
    void settle() {
        run();
        for (const Side* side : {&client, &server}) require(side->completed().second, "a request failed");
    }
    void disconnect() {
        client.pair->disconnect();
        run();
        server.pair->disconnect();
        run();
    }
    std::unique_ptr<MemoryNetwork::RawPeer> accept_raw() { return network_->accept_raw("raw", port); }
    void connect_raw() {
        network_->listen_raw("raw", port);
        client.pair->connect("raw", port, setting_.options(true));
        run();
    }
    /// To be called once. `by_hand`: FPDUs that a peer without a stack sent.
    void end(const std::string& outcome, unsigned by_hand = 0) {
        Json one;
        one["name"] = name_;
        one["outcome"] = outcome;
        one["client_port"] = frames_.end();
        one["there"] = told(client);
        one["back"] = told(server);
        one["back"]["fpdus"] = server.pair->counters().fpdus_sent + by_hand;
        one["crc"] = setting_.crc;
        one["align"] = setting_.align;
        one["markers"] = {{"there", setting_.markers_there}, {"back", setting_.markers_back}};
        one["revision"] = setting_.revision;
        truth_.push_back(one);
    }

private:
    static Impairment impairment_of(const Setting& setting) {
        Impairment impairment;
        impairment.delay_ns = 10'000;
        impairment.emss = setting.segment;
        return impairment;
    }
    Impairment impairment() const { return impairment_of(setting_); }
    static Json told(const Side& side) {
        Json one;
        one["messages"] = side.ledger.counts();
        one["fpdus"] = side.pair->counters().fpdus_sent;
        one["payload_bytes"] = side.pair->counters().payload_octets_sent;
        const auto terminate = side.pair->terminate();
        if (terminate && terminate->sent_by_us)
            one["terminate"] = {{"layer", terminate->layer}, {"type", terminate->type}, {"code", terminate->code}};
        else
            one["terminate"] = nullptr;
        return one;
    }

    Setting setting_;
    TcpFrames& frames_;
    Json& truth_;
    std::string name_;
    std::shared_ptr<MemoryNetwork> network_;

public:
    Side client;
    Side server;

private:
    std::shared_ptr<Listener> listener_;
};

SendRequest request_of(Operation operation, const Side& to) {
    SendRequest request;
    request.operation = operation;
    request.remote_stag = to.region->stag();
    request.remote_offset = to.region->first_offset();
    request.immediate = 0x0123456789abcdef;
    return request;
}

/// Every operation. Where Immediate Data follows a Write nothing on the wire tells whether they were one request, so
/// none does here.
void perform_all(Connection& connection, Side& from, Side& to) {
    for (const std::uint32_t size : {0U, 1U, 5000U, 70000U}) {
        to.receive(70000);
        from.post(request_of(Operation::send, to), size, "send", size);
        from.post(request_of(Operation::write, to), size, "write", size);
    }
    connection.settle();
    SendRequest request = request_of(Operation::send, to);
    request.solicited = true;
    to.receive(300);
    from.post(request, 300, "send", 300);
    std::vector<std::shared_ptr<MemoryRegion>> regions;
    for (const bool solicited : {false, true}) {
        regions.push_back(to.another());
        request.solicited = solicited;
        request.invalidate = true;
        request.invalidate_stag = regions.back()->stag();
        to.receive(20);
        from.post(request, 17, "send_invalidate", 17);
    }
    connection.settle();
    for (const auto& region : regions) require(!region->valid(), "a region was not invalidated");

    for (const bool solicited : {false, true}) {
        request = request_of(Operation::immediate, to);
        request.solicited = solicited;
        to.receive(0);
        from.post(request, 0, "send_immediate", 0);
    }
    for (const std::uint32_t size : {0U, 3001U, 70000U}) {
        to.receive(0);
        from.post(request_of(Operation::write_immediate, to), size, "write_immediate", size);
    }
    connection.settle();

    for (const std::uint32_t size : {0U, 1U, 70000U}) from.post(request_of(Operation::read, to), size, "read", size);
    const auto sink = from.another();
    request = request_of(Operation::read, to);
    request.invalidate = true;
    const Sge into{sink->address(), 64, sink->stag()};
    request.pieces = {&into, 1};
    require(from.pair->post_send(request) == Posted::ok, "a Read was refused");
    from.ledger.add("read", 64);
    connection.settle();
    require(!sink->valid(), "a sink was not invalidated");

    request = request_of(Operation::fetch_add, to);
    request.operand = 5;
    from.post(request, 8, "fetch_add", 8);
    request.operand_mask = 0x8000'8000'8000'8000;
    from.post(request, 8, "fetch_add", 8);
    request = request_of(Operation::compare_swap, to);
    request.operand = 6;
    request.compare = 7;
    request.compare_mask = 0xff;
    from.post(request, 8, "compare_swap", 8);
    connection.settle();
}

void operations(TcpFrames& frames, Json& truth, const Setting& setting) {
    Connection connection(frames, truth, "every operation: " + setting.name(), setting);
    connection.connect();
    perform_all(connection, connection.client, connection.server);
    perform_all(connection, connection.server, connection.client);
    connection.disconnect();
    connection.end("established");
}

void rejection(TcpFrames& frames, Json& truth, const Setting& setting) {
    Connection connection(frames, truth, "rejected: " + setting.name(), setting);
    const Memory words{std::byte{'n'}, std::byte{'o'}};
    connection.ask()->reject(words);
    connection.run();
    const auto events = connection.client.events();
    require(!events.empty() && events.front().kind == Event::Kind::rejected, "it was not rejected");
    require(events.front().private_data == words, "the rejection came without its words");
    connection.end("rejected");
}

/// What the server's stack cannot take: it says why, and that is the end.
struct Offence {
    const char* name;
    Operation operation;
    const char* counted;
    std::uint32_t size;
    std::uint64_t octets;
    void (*prepare)(Side& server, SendRequest& request);
};
constexpr std::array offences{
    Offence{"no such STag", Operation::write, "write", 100, 100,
            [](Side&, SendRequest& request) { request.remote_stag = 0x12345600; }},
    Offence{"a Write beyond the end", Operation::write, "write", 100, 100,
            [](Side&, SendRequest& request) { request.remote_offset += memory_octets - 50; }},
    Offence{"a Read of no such STag", Operation::read, "read", 2000, 2000,
            [](Side&, SendRequest& request) { request.remote_stag = 0x12345600; }},
    Offence{"a Read beyond the end", Operation::read, "read", 2000, 2000,
            [](Side&, SendRequest& request) { request.remote_offset += memory_octets - 50; }},
    Offence{"an atomic that is not aligned", Operation::fetch_add, "fetch_add", 8, 8,
            [](Side&, SendRequest& request) { request.remote_offset += 4; }},
    Offence{"no receive", Operation::send, "send", 100, 100, [](Side&, SendRequest&) {}},
    Offence{"a receive that is too short", Operation::send, "send", 100, 100,
            [](Side& server, SendRequest&) { server.receive(64); }},
    Offence{"an STag that cannot be invalidated", Operation::send, "send_invalidate", 10, 10,
            [](Side& server, SendRequest& request) {
                server.receive(64);
                request.invalidate = true;
                request.invalidate_stag = 0x12345600;
            }},
};

void termination(TcpFrames& frames, Json& truth, const Setting& setting, const Offence& offence) {
    Connection connection(frames, truth, std::string("terminated: ") + offence.name, setting);
    connection.connect();
    SendRequest request = request_of(offence.operation, connection.server);
    offence.prepare(connection.server, request);
    connection.client.post(request, offence.size, offence.counted, offence.octets);
    connection.run();
    const auto sent = connection.server.pair->terminate();
    const auto got = connection.client.pair->terminate();
    require(sent && sent->sent_by_us && got && !got->sent_by_us, "nobody was terminated");
    require(sent->layer == got->layer && sent->type == got->type && sent->code == got->code, "they do not agree why");
    connection.end("established");
}

/// An empty answer to an empty Read, from a peer made by hand.
Memory read_response(bool crc, const wire::RdmapReadRequest& request) {
    Memory fpdu(wire::mpa_fpdu_size(wire::ddp_tagged_size));
    base::store_be16(fpdu.data(), wire::ddp_tagged_size);
    wire::DdpTagged header;
    header.control = {.tagged = true, .last = true};
    header.ulp = 0x40 | static_cast<std::uint8_t>(wire::RdmapOpcode::read_response);
    header.stag = request.sink_stag;
    header.offset = request.sink_offset;
    wire::emit_ddp(std::span<std::byte, wire::ddp_tagged_size>(fpdu.data() + 2, wire::ddp_tagged_size), header);
    const std::size_t covered = fpdu.size() - wire::mpa_crc_size;
    if (crc) std::ranges::copy(wire::crc32c_octets(wire::crc32c(base::Bytes{fpdu}.first(covered))), &fpdu[covered]);
    return fpdu;
}

/// Each kind of ready-to-receive message: the peer offers no other. RFC 6581 section 9.2.
void ready_message(TcpFrames& frames, Json& truth, Setting setting, wire::RdmapOpcode opcode, const char* counted) {
    setting.peer_to_peer = true;
    Connection connection(frames, truth, std::string("ready by an empty ") + counted, setting);
    connection.connect_raw();
    auto peer = connection.accept_raw();
    require(peer != nullptr && !peer->take().empty(), "no Request came");
    wire::MpaReply start;
    start.key = wire::mpa_reply_key;
    start.crc = setting.crc;
    start.reserved = 0x10;
    start.revision = 2;
    start.private_length = wire::size_of<wire::MpaEnhanced>;
    wire::MpaEnhanced enhanced;
    enhanced.peer_to_peer = true;
    enhanced.send = opcode == wire::RdmapOpcode::send;
    enhanced.read = opcode == wire::RdmapOpcode::read_request;
    enhanced.write = opcode == wire::RdmapOpcode::write;
    enhanced.ird = enhanced.ord = 16;
    const auto head = wire::to_octets(start);
    const auto parameters = wire::to_octets(enhanced);
    Memory reply(head.begin(), head.end());
    reply.insert(reply.end(), parameters.begin(), parameters.end());
    peer->send(reply);
    connection.run();
    const Memory fpdu = peer->take();
    require(fpdu.size() >= 20, "no ready-to-receive message came");
    require((std::to_integer<unsigned>(fpdu[3]) & 15) == static_cast<unsigned>(opcode), "another message came");
    connection.client.ledger.add(counted, 0);
    const auto request = wire::parse<wire::RdmapReadRequest>(base::Bytes{fpdu}.subspan(20));
    if (enhanced.read && request) peer->send(read_response(setting.crc, *request));
    connection.run();
    SendRequest write;
    write.operation = Operation::write;
    write.remote_stag = 0x1000;
    connection.client.post(write, 3000, "write", 3000);
    connection.run();
    require(connection.client.completed() == std::pair<std::size_t, bool>{1, true}, "the Write did not leave");
    connection.client.pair->disconnect();
    connection.run();
    peer->close();
    connection.run();
    connection.end("established", enhanced.read ? 1 : 0);
}

void make_file(const std::string& folder, Setting setting) {
    const std::string name = std::string(setting.crc ? "crc" : "no-crc") +
                             (setting.markers_there ? "-markers-there" : "") +
                             (setting.markers_back ? "-markers-back" : "");
    TcpFrames frames(folder + "/" + name + ".pcap");
    Json connections = Json::array();
    for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}}) {
        setting.revision = revision;
        for (const std::uint32_t segment : {1448U, 8948U}) {
            setting.segment = segment;
            for (const bool align : {false, true}) {
                setting.align = align;
                operations(frames, connections, setting);
            }
        }
        setting.segment = 1448;
        rejection(frames, connections, setting);
    }
    setting.peer_to_peer = true;
    operations(frames, connections, setting);
    setting.peer_to_peer = false;
    for (const Offence& offence : offences) termination(frames, connections, setting, offence);
    if (!setting.markers_there && !setting.markers_back) {
        ready_message(frames, connections, setting, wire::RdmapOpcode::write, "write");
        ready_message(frames, connections, setting, wire::RdmapOpcode::read_request, "read");
        ready_message(frames, connections, setting, wire::RdmapOpcode::send, "send");
    }
    frames.close();
    std::ofstream(folder + "/" + name + ".json") << Json{{"connections", connections}}.dump(1) << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) return std::fprintf(stderr, "usage: make_capture FOLDER\n"), 2;
    for (const bool crc : {true, false})
        for (const bool there : {false, true})
            for (const bool back : {false, true}) {
                Setting setting;
                setting.crc = crc;
                setting.markers_there = there;
                setting.markers_back = back;
                make_file(argv[1], setting);
            }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "make_capture: %s\n", error.what());
    return 1;
}
