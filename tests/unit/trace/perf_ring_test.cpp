// The reader of perf's rings, over memory that the test fills as perf_event_open(2) describes it.
#include "trace/perf/perf_ring.h"

#include <cstring>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <random>
#include <string>

#include "trace/perf/perf_source.h"

namespace trace {
namespace {

constexpr std::size_t page = 4096;

/// The kernel's side.
class MadeRing {
public:
    explicit MadeRing(std::size_t octets) : area_((page + octets) / 8), octets_(octets) {}
    std::span<std::byte> area() { return std::as_writable_bytes(std::span(area_)); }
    perf_event_mmap_page& places() { return *reinterpret_cast<perf_event_mmap_page*>(area_.data()); }
    void write(const std::string& octets) {
        for (const char c : octets) area()[page + places().data_head++ % octets_] = static_cast<std::byte>(c);
    }
    std::uint64_t room() { return octets_ - (places().data_head - places().data_tail); }

private:
    std::vector<std::uint64_t> area_;
    std::size_t octets_;
};

template <class T>
std::string octets(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string record(std::uint32_t type, const std::string& body) {
    const auto size = static_cast<std::uint16_t>(8 + body.size());
    return octets(type) + octets(std::uint16_t{0}) + octets(size) + body;
}

std::string sample(std::uint64_t id, std::uint64_t time, std::string raw) {
    while ((raw.size() + 4) % 8 != 0) raw += '\0';
    return record(PERF_RECORD_SAMPLE, octets(id) + octets(std::uint32_t{71}) + octets(std::uint32_t{72}) +
                                          octets(time) + octets(static_cast<std::uint32_t>(raw.size())) + raw);
}

std::string text_of(base::Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

TEST(PerfRing, samples_and_losses_in_order) {
    MadeRing memory(4096);
    PerfRing ring(memory.area(), page);
    EXPECT_EQ(ring.peek(), nullptr);
    memory.write(record(PERF_RECORD_THROTTLE, std::string(24, 'x')));
    memory.write(sample(5, 1000, "abcd"));
    memory.write(
        record(PERF_RECORD_LOST, octets(std::uint64_t{5}) + octets(std::uint64_t{17}) + std::string(32, '\0')));
    const PerfRecord* first = ring.peek();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->event, 5U);
    EXPECT_EQ(first->process, 71U);
    EXPECT_EQ(first->thread, 72U);
    EXPECT_EQ(first->time_ns, 1000);
    EXPECT_EQ(text_of(first->raw), "abcd");
    EXPECT_EQ(ring.peek(), first) << "it stays until pop()";
    ring.pop();
    const PerfRecord* second = ring.peek();
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->kind, PerfRecord::Kind::lost);
    EXPECT_EQ(second->lost, 17U);
    ring.pop();
    EXPECT_EQ(ring.peek(), nullptr);
    EXPECT_EQ(memory.places().data_tail, memory.places().data_head) << "all room given back";
    EXPECT_EQ(ring.damaged(), 0U);
}

TEST(PerfRing, records_go_round_the_end) {
    std::mt19937 random(3);
    MadeRing memory(4096);
    PerfRing ring(memory.area(), page);
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    const auto raw_of = [](std::uint64_t number) {
        return std::string(4 + 8 * (number % 40), static_cast<char>('a' + number % 26));
    };
    while (read < 20'000) {
        for (auto n = random() % 12; n > 0; --n) {
            const std::string next = sample(1, written, raw_of(written));
            if (memory.room() < next.size()) break;
            memory.write(next);
            ++written;
        }
        for (auto n = random() % 12; n > 0; --n) {
            const PerfRecord* got = ring.peek();
            if (got == nullptr) break;
            ASSERT_EQ(got->time_ns, static_cast<std::int64_t>(read));
            ASSERT_EQ(text_of(got->raw), raw_of(read));
            ++read;
            ring.pop();
        }
    }
}

TEST(PerfRing, lengths_that_contradict_each_other_do_no_harm) {
    const auto damaged = [](const std::string& octets) {
        MadeRing memory(4096);
        memory.write(octets);
        PerfRing ring(memory.area(), page);
        while (ring.peek() != nullptr) ring.pop();
        EXPECT_EQ(memory.places().data_tail, memory.places().data_head);
        return ring.damaged();
    };
    EXPECT_EQ(damaged(octets(std::uint32_t{9}) + octets(std::uint16_t{0}) + octets(std::uint16_t{0})), 1U)
        << "no length";
    EXPECT_EQ(damaged(octets(std::uint32_t{9}) + octets(std::uint16_t{0}) + octets(std::uint16_t{800})), 1U)
        << "too long";
    EXPECT_EQ(damaged("abc"), 1U);
    EXPECT_EQ(damaged(record(PERF_RECORD_SAMPLE, "")), 1U);
    EXPECT_EQ(damaged(record(PERF_RECORD_LOST, "12345678")), 1U);
    const std::string raw_too_long = sample(1, 2, "abcd").replace(8 + 24, 4, octets(std::uint32_t{5}));
    EXPECT_EQ(damaged(raw_too_long), 1U);
    std::mt19937 random(4);
    for (int round = 0; round < 2000; ++round) {
        std::string all;
        for (int i = 0; i < 8; ++i) all += sample(1, 2, std::string(random() % 100, 'x'));
        for (auto n = random() % 10; n > 0; --n) all[random() % all.size()] = static_cast<char>(random());
        static_cast<void>(damaged(all.substr(0, random() % 4097)));
    }
}

TEST(ProcessorList, as_sysfs_writes_it) {
    EXPECT_EQ(parse_processor_list("0-3,8,10-11"), (std::vector{0, 1, 2, 3, 8, 10, 11}));
    EXPECT_EQ(parse_processor_list("0"), std::vector{0});
    for (const char* wrong : {"", "x", "3-1", "0-", "0-99999999", "1;2", "-1"})
        EXPECT_TRUE(parse_processor_list(wrong).empty()) << wrong;
}

}  // namespace
}  // namespace trace
