#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <thread>

#include "capture_recorder.h"
#include "iwarp/iwarp.h"
#include "tcp_truth.h"
#include "trace.h"

// attribution [SCENARIO...]: what `flows` says of where a sender's time went, against what the sender knows. Two
// devices over the loopback interface, a thread each, and a live capture between them. The program keeps a trace of
// what it waits for, where only TCP knows it asks TCP_INFO; and the share of time in each state must agree to 95 in
// 100. With STACK_CAPTURES=FOLDER the captures are kept.
namespace {

using namespace iwarp;
using metrics::State;
using metrics::StateTimes;
using stack::Trace;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int status_skipped = 77;
constexpr double agreement_wanted = 0.95;
constexpr int attempts_most = 4;
/// With a larger share of its time spent waiting for a processor, a thread is late by no fault of what is measured.
constexpr double starved = 0.1;
/// The same of a virtual machine's processor that its host gave to others: a thread does not count that as waiting.
constexpr double withheld_much = 0.02;
constexpr std::uint32_t message_octets = 64 * 1024;
/// Between messages the wire does not tell a stack that is late from an application that has no more: long ones have
/// few such places.
constexpr std::uint32_t bulk_octets = 8 << 20;
constexpr std::size_t memory_octets = bulk_octets;
constexpr auto length = 1500ms;

/// States that the program cannot tell apart, taken for one.
struct Group {
    std::string name;
    std::vector<State> states;
};

struct End {
    End()
        : device(Device::open()),
          domain(device->allocate_protection_domain()),
          completions(device->create_completion_queue(4096)),
          pair(device->create_queue_pair(domain, completions, completions)),
          memory(memory_octets),
          region(domain->register_memory(memory, Access::local_write | Access::remote_read | Access::remote_write)) {}

    Sge piece(std::uint32_t size) const { return {region->address(), size, region->stag()}; }
    void receive(std::uint32_t size) const {
        const Sge into = piece(size);
        if (pair->post_receive({1, {&into, 1}}) != Posted::ok) throw std::runtime_error("a receive was refused");
    }
    void post(Operation operation, std::uint32_t size, const End* to = nullptr) const {
        const Sge from = piece(size);
        SendRequest request;
        request.operation = operation;
        request.pieces = {&from, 1};
        if (to != nullptr) {
            request.remote_stag = to->region->stag();
            request.remote_offset = to->region->first_offset();
        }
        const Posted posted = pair->post_send(request);
        if (posted != Posted::ok) throw std::runtime_error(std::string("a request was refused: ") + name_of(posted));
    }
    /// Sends and receives, and says how many requests and receives have completed.
    struct Done {
        unsigned requests = 0;
        unsigned receives = 0;
    };
    Done drive(std::chrono::nanoseconds wait = 1ms) const {
        device->progress(wait);
        Completion all[64];
        Done done;
        for (std::size_t i = completions->poll(all); i-- > 0;) {
            if (all[i].status == Status::flushed) continue;
            if (all[i].status != Status::success) throw std::runtime_error(name_of(all[i].status));
            ++(all[i].operation == CompletedOperation::receive ? done.receives : done.requests);
        }
        return done;
    }

    std::shared_ptr<Device> device;
    std::shared_ptr<ProtectionDomain> domain;
    std::shared_ptr<CompletionQueue> completions;
    std::shared_ptr<QueuePair> pair;
    std::vector<std::byte> memory;
    std::shared_ptr<MemoryRegion> region;
};

/// How long the calling thread has waited for a processor, by the scheduler's count; 0 where it keeps none.
std::uint64_t waited_for_processor_ns() {
    std::uint64_t ran = 0, waited = 0;
    std::ifstream("/proc/thread-self/schedstat") >> ran >> waited;
    return waited;
}

/// How long the host of a virtual machine has withheld each processor (steal time, proc_stat(5)); 0 on real ones.
std::vector<std::uint64_t> withheld_ns() {
    constexpr std::uint64_t tick_ns = 10'000'000;  // USER_HZ is 100 on all of Linux' architectures but Alpha
    std::vector<std::uint64_t> all;
    std::ifstream stat("/proc/stat");
    for (std::string line; std::getline(stat, line) && line.starts_with("cpu");) {
        if (line.starts_with("cpu ")) continue;  // the sum of all
        unsigned long long ticks = 0;
        if (std::sscanf(line.c_str(), "cpu%*u %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) == 1)
            all.push_back(ticks * tick_ns);
    }
    return all;
}

/// Of the processor that was withheld for longest, since `before`.
std::uint64_t withheld_since(const std::vector<std::uint64_t>& before) {
    const std::vector<std::uint64_t> now = withheld_ns();
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < std::min(now.size(), before.size()); ++i) most = std::max(most, now[i] - before[i]);
    return most;
}

/// Two ends, of which the server has a thread of its own, and what was seen of them.
struct World {
    End client;
    End server;
    Trace client_trace;
    Trace server_trace;
    int socket = -1;      ///< the client's
    stack::TcpTruth tcp;  ///< of the client: how much happened
    std::uint64_t client_waited_ns = 0;
    std::uint64_t server_waited_ns = 0;
    std::uint64_t withheld_ns = 0;
    std::uint16_t server_port = 0;
    std::atomic<bool> over{false};

    bool running(Clock::time_point deadline) const { return !over && Clock::now() < deadline; }
};

struct Scenario {
    const char* name = "";
    const char* what = "";
    std::function<void(World&)> client = {};
    std::function<void(World&)> server_turn = {};  ///< again and again; drives the device
    std::vector<Group> groups = {};
    std::uint16_t ord = 16;
    bool of_server = false;  ///< it is the server's flow that is looked at
    bool by_window = false;  ///< TCP_INFO says how much of the time was `credit`
    bool judged = true;      ///< false: told only
    int receive_buffer = 0;  ///< octets of the server's socket; 0: the system's
};

ConnectionOptions options_of(const Scenario& scenario) {
    ConnectionOptions options;
    options.crc = false;
    options.align = true;
    options.ord = scenario.ord;
    options.ird = 64;
    return options;
}

// ---- what the ends do ----

void just_drive(World& world) { world.server.drive(5ms); }

/// (a) A Write, and a rest, and so on. What the program cannot say of its rest TCP tells at its end: whether the Write
/// was acknowledged by then.
void rest_between_writes(World& world) {
    auto rest = 20ms;  // the receiver's host may delay its acknowledgement by 40 ms
    for (const auto deadline = Clock::now() + length; world.running(deadline);) {
        world.client_trace.enter(State::transmit_new);
        world.client.post(Operation::write, message_octets, &world.server);
        while (world.client.drive().requests == 0 && !world.over) {
        }
        world.client_trace.enter(State::application_idle);
        std::this_thread::sleep_for(rest);
        rest = 80ms - rest;
        const auto tcp = stack::ask(world.socket);
        if (tcp && tcp->unacknowledged + tcp->unsent_octets > 0)
            world.client_trace.rename(State::application_in_flight);
    }
}

/// (b) A question, and nothing until the answer.
void ask_again_and_again(World& world) {
    for (const auto deadline = Clock::now() + length; world.running(deadline);) {
        world.client.receive(64);
        world.client.post(Operation::send, 64);
        world.client_trace.enter(State::peer_wait);
        while (world.client.drive().receives == 0 && !world.over) {
        }
        world.client_trace.enter(State::application_idle);
    }
}
void think_before_answers(World& world) {
    world.server_trace.enter(State::peer_wait);
    if (world.server.drive(5ms).receives == 0) return;
    world.server_trace.enter(State::application_idle);
    std::this_thread::sleep_for(5ms);
    world.server.receive(64);
    world.server.post(Operation::send, 64);
}

/// (c) More Reads are posted than may be outstanding, always.
void keep_reading(World& world, unsigned depth, std::uint32_t octets) {
    const unsigned posted = 4 * depth;
    for (unsigned i = 0; i < posted; ++i) world.client.post(Operation::read, octets, &world.server);
    world.client_trace.enter(State::read_window);
    for (const auto deadline = Clock::now() + length; world.running(deadline);)
        for (unsigned done = world.client.drive().requests; done > 0; --done)
            world.client.post(Operation::read, octets, &world.server);
    world.client_trace.enter(State::application_idle);
}

/// (d), (e) More is posted than TCP takes, always.
void keep_writing(World& world) {
    constexpr unsigned depth = 8;
    world.client_trace.enter(State::transmit_new);
    for (unsigned i = 0; i < depth; ++i) world.client.post(Operation::write, bulk_octets, &world.server);
    for (const auto deadline = Clock::now() + length; world.running(deadline);)
        for (unsigned done = world.client.drive().requests; done > 0; --done)
            world.client.post(Operation::write, bulk_octets, &world.server);
}
void drive_now_and_then(World& world) {
    world.server.drive(0ms);
    std::this_thread::sleep_for(5ms);
}
void drive_a_third_of_the_time(World& world) {
    for (const auto until = Clock::now() + 10ms; Clock::now() < until;) world.server.drive(1ms);
    if (!world.over) std::this_thread::sleep_for(20ms);
}

// ---- what comes of it ----

const Group idle{"application_idle", {State::application_idle}};
const Group in_flight{"application_in_flight", {State::application_in_flight}};
const Group peer{"peer_wait", {State::peer_wait}};
const Group credit{"credit", {State::credit}};
/// The stack has what it needs and is at it: on a loopback interface TCP's acknowledgements, the processor and the wire
/// are one.
const Group sending{"sending", {State::transmit_new, State::nic_stall, State::link_shared, State::ack_window}};
/// docs/metrics.md: READs one by one are an ack_window, because nobody told ORD.
const Group window{"window", {State::read_window, State::ack_window}};

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> all{
        {.name = "rest",
         .what = "Writes of 64 KiB with rests of 20 and 60 ms",
         .client = rest_between_writes,
         .server_turn = just_drive,
         .groups = {idle, in_flight, sending, peer}},
        {.name = "ask",
         .what = "a question at a time, of a peer that takes 5 ms",
         .client = ask_again_and_again,
         .server_turn = think_before_answers,
         .groups = {peer, idle, in_flight}},
        {.name = "answer",
         .what = "the same, seen from the peer",
         .client = ask_again_and_again,
         .server_turn = think_before_answers,
         .groups = {peer, idle, in_flight},
         .of_server = true},
        {.name = "read-1",
         .what = "Reads of 4 KiB, one outstanding, of a peer that looks every 5 ms",
         .client = [](World& world) { keep_reading(world, 1, 4096); },
         .server_turn = drive_now_and_then,
         .groups = {window, idle, peer},
         .ord = 1},
        {.name = "read-8",
         .what = "Reads of 4 KiB, eight outstanding, of a peer that looks every 5 ms",
         .client = [](World& world) { keep_reading(world, 8, 4096); },
         .server_turn = drive_now_and_then,
         .groups = {window, idle, peer},
         .ord = 8},
        // There is no state for what this is: the answers wait in the client's socket until its processor has copied
        // those before. The wire shows nothing outstanding and a sender that begins late: idle, by the rules.
        {.name = "read-fast",
         .what = "Reads of 64 KiB, eight outstanding, as fast as they are answered (told only)",
         .client = [](World& world) { keep_reading(world, 8, message_octets); },
         .server_turn = just_drive,
         .groups = {window, idle, in_flight, peer},
         .ord = 8,
         .judged = false},
        {.name = "starve",
         .what = "Writes to a peer that is away for 20 of 30 ms",
         .client = keep_writing,
         .server_turn = drive_a_third_of_the_time,
         .groups = {credit, sending, peer},
         .by_window = true,
         .receive_buffer = 256 * 1024},
        {.name = "busy",
         .what = "Writes as fast as they are taken",
         .client = keep_writing,
         .server_turn = just_drive,
         .groups = {credit, sending, peer},
         .by_window = true},
    };
    return all;
}

/// TCP's probes: it sends a segment again that the peer's host has not acknowledged for two round trips, because the
/// peer is away or its processor late. By docs/metrics.md, where the first rule that holds wins, the wait that such a
/// one ends is recover_timeout. To the program it is what it would have been without: it may be any of these.
const char* const with_probes[] = {"credit", "sending", "window"};

struct Outcome {
    double agreement = 0;
    double without_probes = 0;  ///< where what ends in a probe counts as wrong
    double waited = 0;          ///< share of the time that the unluckier thread waited for a processor
    double withheld = 0;        ///< share of the time that a host withheld the unluckier processor
    std::string told;
};

void serve(const Scenario& scenario, World& world) {
    bool accepted = false;
    std::uint64_t waited_before_ns = 0;
    while (!world.over) {
        if (accepted)
            scenario.server_turn(world);
        else
            world.server.drive(1ms);
        while (auto event = world.server.device->next_event()) {
            if (event->kind != Event::Kind::connect_request) continue;
            event->request->accept(world.server.pair, options_of(scenario));
            accepted = true;
            if (scenario.receive_buffer != 0)
                stack::limit_receiving(stack::find_socket(world.server_port, 0), scenario.receive_buffer);
            waited_before_ns = waited_for_processor_ns();
        }
    }
    world.server_waited_ns = waited_for_processor_ns() - waited_before_ns;
}

/// Connects, plays, disconnects.
void play(const Scenario& scenario, World& world, std::uint16_t port) {
    world.client.pair->connect("127.0.0.1", port, options_of(scenario));
    for (bool established = false; !established && !world.over;) {
        world.client.drive();
        while (auto event = world.client.device->next_event()) {
            if (event->kind != Event::Kind::established) throw std::runtime_error("no connection: " + event->text);
            established = true;
        }
    }
    world.socket = stack::find_socket(0, port);
    const auto before = stack::ask(world.socket);
    if (!before) throw std::runtime_error("this kernel's TCP_INFO does not tell what limits a sender");
    const std::uint64_t waited_before_ns = waited_for_processor_ns();
    const std::vector<std::uint64_t> withheld_before_ns = withheld_ns();
    scenario.client(world);
    world.withheld_ns = withheld_since(withheld_before_ns);
    world.client_waited_ns = waited_for_processor_ns() - waited_before_ns;
    const auto after = stack::ask(world.socket);
    if (!after) throw std::runtime_error("the connection has gone");
    world.tcp.window_limited_ns = after->window_limited_ns - before->window_limited_ns;
    world.tcp.buffer_limited_ns = after->buffer_limited_ns - before->buffer_limited_ns;
    world.tcp.retransmitted = after->retransmitted;
    world.tcp.busy_ns = after->busy_ns - before->busy_ns;
    // What comes later is not told: the connection ends here.
    world.client.pair->abort();
    world.client.drive();
}

std::uint64_t sum_of(const StateTimes& times, const Group& group) {
    std::uint64_t sum = 0;
    for (const State state : group.states) sum += times[metrics::index_of(state)];
    return sum;
}

Outcome compare(const Scenario& scenario, const World& world, const metrics::FlowSnapshot& flow) {
    const Trace& trace = scenario.of_server ? world.server_trace : world.client_trace;
    StateTimes truth = trace.between(flow.first_ns, flow.last_ns);
    if (scenario.by_window) {
        auto& transmit = truth[metrics::index_of(State::transmit_new)];
        const std::uint64_t limited = std::min(transmit, world.tcp.window_limited_ns);
        transmit -= limited;
        truth[metrics::index_of(State::credit)] += limited;
    }
    std::uint64_t wall = 0, measured_wall = 0;
    for (std::size_t i = 0; i < metrics::state_count; ++i) {
        wall += truth[i];
        measured_wall += flow.state_ns[i];
    }
    if (wall == 0 || measured_wall == 0) throw std::runtime_error("no time passed");
    Outcome outcome;
    outcome.waited =
        static_cast<double>(std::max(world.client_waited_ns, world.server_waited_ns)) / static_cast<double>(wall);
    outcome.withheld = static_cast<double>(world.withheld_ns) / static_cast<double>(wall);
    const auto say = [&](const char* format, auto... values) {
        char line[256];
        std::snprintf(line, sizeof line, format, values...);
        outcome.told += line;
    };
    double lacking = 0;
    for (const Group& group : scenario.groups) {
        const double is = static_cast<double>(sum_of(truth, group)) / static_cast<double>(wall);
        const double said = static_cast<double>(sum_of(flow.state_ns, group)) / static_cast<double>(measured_wall);
        outcome.agreement += std::min(is, said);
        if (std::ranges::find(with_probes, group.name) != std::end(with_probes)) lacking += std::max(is - said, 0.0);
        say("    %-22s true %6.2f %%   told %6.2f %%\n", group.name.c_str(), 100 * is, 100 * said);
    }
    const double probes = static_cast<double>(flow.state_ns[metrics::index_of(State::recover_timeout)]);
    outcome.without_probes = outcome.agreement;
    outcome.agreement += std::min(lacking, probes / static_cast<double>(measured_wall));
    say("    of %.3f s, told:", static_cast<double>(measured_wall) / 1e9);
    for (std::size_t i = 0; i < metrics::state_count; ++i)
        if (flow.state_ns[i] * 1000 > measured_wall)
            say(" %s %.1f %%", std::string(metrics::state_names[i]).c_str(),
                100 * static_cast<double>(flow.state_ns[i]) / static_cast<double>(measured_wall));
    say("; unsure %.1f %%; tolerance %.0f us; TCP: busy %.1f %%, window %.1f %%, buffer %.1f %%\n",
        100 * static_cast<double>(flow.state_unsure_ns) / static_cast<double>(measured_wall),
        static_cast<double>(flow.reaction_tolerance_ns) / 1e3,
        1e2 * static_cast<double>(world.tcp.busy_ns) / static_cast<double>(wall),
        1e2 * static_cast<double>(world.tcp.window_limited_ns) / static_cast<double>(wall),
        1e2 * static_cast<double>(world.tcp.buffer_limited_ns) / static_cast<double>(wall));
    say("    %llu segments, sent again %u, told: again %llu, late %llu, missing %llu, doubled %llu, unseen %llu\n",
        static_cast<unsigned long long>(flow.packets), world.tcp.retransmitted,
        static_cast<unsigned long long>(flow.retransmitted_packets.value_or(0)),
        static_cast<unsigned long long>(flow.reordered_packets.value_or(0)),
        static_cast<unsigned long long>(flow.missing_packets.value_or(0)),
        static_cast<unsigned long long>(flow.duplicate_packets.value_or(0)),
        static_cast<unsigned long long>(flow.unseen_acknowledged_packets));
    return outcome;
}

Outcome attempt(const Scenario& scenario) {
    World world;
    const auto listener = world.server.device->listen("127.0.0.1", 0, options_of(scenario));
    const std::uint16_t port = listener->port();
    world.server_port = port;
    world.server.receive(64);
    stack::Recorder recorder(port);
    std::string failure, server_failure;
    std::thread server([&] {
        try {
            serve(scenario, world);
        } catch (const std::exception& error) {
            server_failure = error.what();
            world.over = true;
        }
    });
    try {
        play(scenario, world, port);
    } catch (const std::exception& error) {
        failure = error.what();
    }
    world.over = true;
    server.join();
    if (!server_failure.empty()) failure = server_failure;
    if (!failure.empty()) throw std::runtime_error(failure);
    const char* folder = std::getenv("STACK_CAPTURES");
    const metrics::Snapshot snapshot =
        recorder.finish(folder == nullptr ? std::string() : std::string(folder) + "/" + scenario.name + ".pcapng");
    if (recorder.lost() > 0)
        return {0, 0, 1, 0, "    the capture lost " + std::to_string(recorder.lost()) + " frames\n"};
    for (const metrics::FlowSnapshot& flow : snapshot.flows)
        if ((flow.destination.port == port) != scenario.of_server) return compare(scenario, world, flow);
    throw std::runtime_error("the capture has no such flow");
}

enum class Verdict { good, wrong, open };

Verdict judge(const Scenario& scenario) {
    std::printf("%s: %s\n", scenario.name, scenario.what);
    bool fair = false;
    for (int i = 0; i < attempts_most; ++i) {
        const Outcome outcome = attempt(scenario);
        std::printf(
            "%s  agreement %.2f %% (%.2f %% without probes); waited for a processor %.1f %%, which was withheld %.1f "
            "%%\n",
            outcome.told.c_str(), 100 * outcome.agreement, 100 * outcome.without_probes, 100 * outcome.waited,
            100 * outcome.withheld);
        std::fflush(stdout);
        if (!scenario.judged || outcome.agreement >= agreement_wanted) return Verdict::good;
        fair = fair || (outcome.waited < starved && outcome.withheld < withheld_much);
    }
    if (!fair) std::printf("  not judged: the machine had no processor to spare\n");
    return fair ? Verdict::wrong : Verdict::open;
}

}  // namespace

int main(int argc, char** argv) try {
    if (const auto refusal = stack::Recorder::refusal()) {
        std::printf("live captures are not possible here: %s\n", refusal->c_str());
        return status_skipped;
    }
    // Where it is permitted, others of this machine shall not be what is measured.
    sched_param priority{};
    priority.sched_priority = 1;
    static_cast<void>(sched_setscheduler(0, SCHED_RR, &priority));
    bool wrong = false, open = false;
    for (const Scenario& scenario : scenarios()) {
        const bool wanted = argc < 2 || std::any_of(argv + 1, argv + argc, [&](const char* name) {
                                return std::strcmp(name, scenario.name) == 0;
                            });
        if (!wanted) continue;
        const Verdict verdict = judge(scenario);
        wrong = wrong || verdict == Verdict::wrong;
        open = open || verdict == Verdict::open;
    }
    return wrong ? 1 : open ? status_skipped : 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "attribution: %s\n", error.what());
    return 1;
}
