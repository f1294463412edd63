#include "cli/demo/demo_traffic.h"

#include <chrono>
#include <fmt/core.h>

namespace cli::demo {

namespace {

using endpoint::BenchKind;
using namespace std::chrono_literals;

constexpr auto short_length = 3s;
constexpr auto long_length = 24h;
constexpr auto absence = 4ms;  ///< of the sluggish server, from its endpoint
constexpr std::uint64_t starved_messages = 800;

endpoint::ServerOptions server_options() {
    endpoint::ServerOptions options;
    options.listen = {"127.0.0.1", 0};
    options.connection.align = true;  // headers begin segments, as adapters send them
    options.max_connections = 64;
    options.region_octets = std::uint64_t{1} << 20;
    return options;
}

}  // namespace

Traffic::Traffic(Length length) : length_(length), diligent_(server_options()), sluggish_(server_options()) {
    add("Writes of 32 KiB, 40 Mbit/s", BenchKind::write, 32 << 10, 16, 40'000'000);
    add("Reads of 16 KiB, 20 Mbit/s", BenchKind::read, 16 << 10, 16, 20'000'000);
    add("Sends of 2 KiB, 4 Mbit/s", BenchKind::send, 2 << 10, 32, 4'000'000);
    add("Fetch and Add, 200 a second", BenchKind::atomic, 8, 1, 12'800);
    add("Writes of 32 KiB as fast as they are taken, by a server that is away most of the time", BenchKind::write,
        32 << 10, 32, 0);
    strands_.back()->options.to = sluggish_.address();
    if (length_ == Length::three_seconds) strands_.back()->options.count = starved_messages;
}

Traffic::~Traffic() {
    stop();
    finish();
}

void Traffic::add(std::string what, BenchKind kind, std::uint64_t size, std::uint64_t depth,
                  std::uint64_t bits_per_sec) {
    endpoint::BenchOptions options;
    options.kind = kind;
    options.to = diligent_.address();
    options.size = size;
    options.depth = depth;
    const std::chrono::nanoseconds duration = length_ == Length::three_seconds ? short_length : long_length;
    options.duration_ns = static_cast<std::uint64_t>(duration.count());
    options.stop = &clients_stop_;
    if (bits_per_sec != 0) options.bits_per_sec = bits_per_sec;
    options.connection.align = true;
    options.ask_server = false;
    strands_.push_back(std::make_unique<Strand>(Strand{std::move(what), options}));
}

endpoint::OperationCount Traffic::credits() const {
    const endpoint::SessionCounters a = diligent_.counters().sessions;
    const endpoint::SessionCounters b = sluggish_.counters().sessions;
    return {a.messages_sent + b.messages_sent, a.message_octets_sent + b.message_octets_sent};
}

std::string Traffic::filter() const {
    return fmt::format("tcp port {} or tcp port {}", diligent_.address().port, sluggish_.address().port);
}

void Traffic::start() {
    servers_.emplace_back([this] {
        while (!stop_) diligent_.progress(20ms);
    });
    servers_.emplace_back([this] {
        while (!stop_) {
            sluggish_.progress(0ns);
            std::this_thread::sleep_for(absence);
        }
    });
    running_ = static_cast<unsigned>(strands_.size());
    for (const auto& strand : strands_)
        clients_.emplace_back([this, each = strand.get()] {
            try {
                endpoint::Bench bench(each->options);
                each->result = bench.run();
            } catch (const std::exception& error) {
                each->result.error = error.what();
            }
            --running_;
        });
}

void Traffic::finish() {
    for (std::thread& client : clients_) client.join();
    clients_.clear();
    stop_ = true;
    for (std::thread& server : servers_) server.join();
    servers_.clear();
}

}  // namespace cli::demo
