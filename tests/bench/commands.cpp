/// Packets of NVMe in memory -> commands, one core: what it costs to recognize connections without their set-up, and
/// what memory connections take whose commands are open.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "dissect/dissector.h"
#include "upper/reader.h"

namespace {

constexpr std::size_t sqe_bytes = 64;
constexpr std::size_t cqe_bytes = 16;
constexpr std::size_t headers = 54;  ///< Ethernet, IPv4, UDP, BTH
constexpr std::size_t icrc_bytes = 4;

/// NVMe over RoCEv2 between 64 pairs of hosts: requests, their acknowledgements, and their answers.
class NvmeTraffic {
public:
    NvmeTraffic() : request_(frame_of(0x04, sqe_bytes)), ack_(frame_of(0x11, 4)), answer_(frame_of(0x04, cqe_bytes)) {
        std::byte* const sqe = &request_[headers];
        sqe[0] = std::byte{2};     // Read
        sqe[1] = std::byte{0x40};  // with an SGL
        base::store_be32(sqe + 4, 0x01000000);
        sqe[33] = std::byte{0x10};  // 4 KiB
        sqe[39] = std::byte{0x4f};  // keyed, to be invalidated by the answer
        base::store_be32(&ack_[headers], 31u << 24);
    }

    const wire::Frame& request(std::uint32_t connection, std::uint16_t command) {
        set_command(&request_[headers + 2], command);
        base::store_be32(&request_[headers + 35], connection * 64 + command);
        request_[headers + 39] = std::byte{0x4f};
        return address(request_, connection, command, false);
    }
    const wire::Frame& ack(std::uint32_t connection, std::uint16_t command) {
        return address(ack_, connection, command, true);
    }
    /// The initiator acknowledges an answer.
    const wire::Frame& ack_of_answer(std::uint32_t connection, std::uint16_t command) {
        return address(ack_, connection, command, false);
    }
    const wire::Frame& answer(std::uint32_t connection, std::uint16_t command) {
        set_command(&answer_[headers + 12], command);
        return address(answer_, connection, command, true);
    }

private:
    static std::vector<std::byte> frame_of(std::uint8_t opcode, std::size_t payload) {
        std::vector<std::byte> out(headers + payload + icrc_bytes);
        base::store_be16(&out[12], 0x0800);
        out[14] = std::byte{0x45};
        base::store_be16(&out[16], static_cast<std::uint16_t>(out.size() - 14));
        out[22] = std::byte{64};
        out[23] = std::byte{17};
        base::store_be16(&out[34], 0xc000);
        base::store_be16(&out[36], 4791);
        base::store_be16(&out[38], static_cast<std::uint16_t>(out.size() - 34));
        out[42] = std::byte{opcode};
        out[43] = std::byte{0x40};
        base::store_be16(&out[44], 0xffff);
        return out;
    }
    static void set_command(std::byte* at, std::uint16_t command) {
        at[0] = static_cast<std::byte>(command & 0xff);
        at[1] = static_cast<std::byte>(command >> 8);
    }
    const wire::Frame& address(std::vector<std::byte>& octets, std::uint32_t connection, std::uint32_t psn, bool back) {
        const std::uint32_t client = 0x0a000000u + connection % 64;
        const std::uint32_t server = 0x0a010000u + connection % 64;
        base::store_be32(&octets[26], back ? server : client);
        base::store_be32(&octets[30], back ? client : server);
        base::store_be32(&octets[46], back ? connection / 64 + 0x400000 : connection / 64 + 16);
        base::store_be32(&octets[50], (0x80u << 24) | ((psn + connection * 977u) & 0xffffff));
        frame_.bytes = octets;
        frame_.wire_length = static_cast<std::uint32_t>(octets.size());
        frame_.number = ++number_;
        frame_.time_ns = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(number_ * 100);
        return frame_;
    }

    std::vector<std::byte> request_;
    std::vector<std::byte> ack_;
    std::vector<std::byte> answer_;
    wire::Frame frame_;
    std::uint64_t number_ = 0;
};

class Nothing final : public dissect::Sink {
public:
    void on_frame(const wire::Frame& /*frame*/, const dissect::Dissection& /*dissection*/) override {}
    void on_unit(const dissect::Unit& unit) override { benchmark::DoNotOptimize(&unit); }
};

dissect::DissectorOptions dissector_options() {
    dissect::DissectorOptions options;
    options.parse.verify_crc = false;
    options.find_repeats = false;
    return options;
}

/// Three commands on each connection, so that each is recognized by shape.
void pass_commands(NvmeTraffic& traffic, std::uint32_t connections, dissect::Dissector& dissector,
                   dissect::Sink& sink) {
    constexpr std::uint16_t commands = 4;
    for (std::uint32_t connection = 0; connection < connections; ++connection)
        for (std::uint16_t command = 0; command < commands; ++command) {
            dissector.dissect(traffic.request(connection, command), sink);
            dissector.dissect(traffic.ack(connection, command), sink);
            dissector.dissect(traffic.answer(connection, command), sink);
        }
}

upper::ReaderOptions reader_options(std::uint32_t connections) {
    upper::ReaderOptions options;
    options.max_connections = std::size_t{4} * connections;
    return options;
}

std::size_t recognized(upper::Reader& reader) {
    std::size_t count = 0;
    reader.visit_connections([&count](const upper::Connection&) { ++count; });
    return count;
}

/// Items are connections, of twelve packets each. `read` 0: the packets are only taken apart, to be taken off.
void recognize_connections(benchmark::State& state) {
    const auto connections = static_cast<std::uint32_t>(state.range(0));
    for (auto _ : state) {
        NvmeTraffic traffic;
        dissect::Dissector dissector(dissector_options());
        Nothing nothing;
        if (state.range(1) == 0) {
            pass_commands(traffic, connections, dissector, nothing);
            continue;
        }
        std::optional<upper::Reader> reader;
        reader.emplace(reader_options(connections), nullptr, nullptr);
        pass_commands(traffic, connections, dissector, *reader);
        state.PauseTiming();  // a program ends without this
        if (recognized(*reader) != connections) state.SkipWithError("not the connections that were made");
        reader.reset();
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * connections);
}
BENCHMARK(recognize_connections)
    ->ArgNames({"connections", "read"})
    ->Args({100'000, 0})
    ->Args({100'000, 1})
    ->Args({1'000, 1})
    ->Unit(benchmark::kMillisecond);

/// The memory of connections with 32 open commands each. `acked` 1: the target has acknowledged the requests, as it
/// does a round trip after them; 0: none yet.
void open_commands(benchmark::State& state) {
    constexpr std::uint16_t first = 4;
    constexpr std::uint16_t open = 32;
    const auto connections = static_cast<std::uint32_t>(state.range(0));
    const bool acked = state.range(1) != 0;
    double megabytes = 0;
    for (auto _ : state) {
        NvmeTraffic traffic;
        dissect::Dissector dissector(dissector_options());
        const std::size_t before = mallinfo2().uordblks;
        upper::Reader reader(reader_options(connections), nullptr, nullptr);
        pass_commands(traffic, connections, dissector, reader);
        for (std::uint32_t connection = 0; connection < connections; ++connection) {
            dissector.dissect(traffic.ack_of_answer(connection, first - 1), reader);
            for (std::uint16_t command = first; command < first + open; ++command) {
                dissector.dissect(traffic.request(connection, command), reader);
                if (acked) dissector.dissect(traffic.ack(connection, command), reader);
            }
        }
        megabytes = static_cast<double>(mallinfo2().uordblks - before) / 1e6;
        std::uint64_t found = 0;
        reader.visit_connections([&found](const upper::Connection& one) { found += one.counts().open_now; });
        if (found != std::uint64_t{connections} * open) state.SkipWithError("not the commands that were asked");
    }
    state.SetItemsProcessed(state.iterations() * connections * open);
    state.counters["MB"] = megabytes;
}
BENCHMARK(open_commands)
    ->ArgNames({"connections", "acked"})
    ->Args({10'000, 1})
    ->Args({10'000, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
