#include "capture/recorder/flight_recorder.h"

#include <deque>
#include <fmt/core.h>
#include <limits>
#include <random>
#include <vector>

#include "support.h"

namespace capture::test {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t always = std::numeric_limits<std::int64_t>::min();

wire::Frame frame_at(std::int64_t time_ns, std::string_view data, std::uint64_t number = 1) {
    wire::Frame frame;
    frame.bytes = std::as_bytes(std::span(data));
    frame.wire_length = static_cast<std::uint32_t>(data.size());
    frame.time_ns = time_ns;
    frame.number = number;
    return frame;
}

std::vector<Kept> held_by(const FlightRecorder& recorder, std::int64_t from_ns = always) {
    std::vector<Kept> all;
    recorder.replay(from_ns, [&all](const wire::Frame& frame) {
        all.push_back(keep(frame));
        return true;
    });
    return all;
}
std::vector<std::uint64_t> numbers_in(const FlightRecorder& recorder, std::int64_t from_ns = always) {
    std::vector<std::uint64_t> numbers;
    for (const Kept& kept : held_by(recorder, from_ns)) numbers.push_back(kept.number);
    return numbers;
}

TEST(FlightRecorder, keeps_what_a_frame_says_of_itself) {
    FlightRecorder recorder({});
    wire::Frame frame = frame_at(1'700'000'000'123'456'789, "hello", 42);
    frame.wire_length = 1500;
    frame.link_type = wire::LinkType::linux_sll2;
    frame.direction = wire::Direction::outbound;
    frame.interface = 70'000;
    frame.comment = "not kept";
    recorder.keep(frame);
    recorder.keep(frame_at(-5, "", 43));
    const std::vector<Kept> all = held_by(recorder);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0], (Kept{"hello", 1500, 276, wire::Direction::outbound, 70'000, 1'700'000'000'123'456'789, 42, ""}));
    EXPECT_EQ(all[1], (Kept{"", 0, 1, wire::Direction::unknown, 0, -5, 43, ""}));
}

TEST(FlightRecorder, long_frames_are_cut_and_say_how_long_they_were) {
    FlightRecorder recorder({.memory_octets = 4096, .frame_octets = 10});
    recorder.keep(frame_at(1, "0123456789abcdef"));
    recorder.keep(frame_at(2, "0123456789"));
    const std::vector<Kept> all = held_by(recorder);
    EXPECT_EQ(all.at(0).bytes, "0123456789");
    EXPECT_EQ(all.at(0).wire_length, 16U);
    EXPECT_EQ(all.at(1).bytes, "0123456789");
}

TEST(FlightRecorder, empty_says_so) {
    const FlightRecorder recorder({});
    EXPECT_TRUE(held_by(recorder).empty());
    EXPECT_EQ(recorder.extent().frames, 0U);
    EXPECT_EQ(recorder.extent().octets, 0U);
    EXPECT_EQ(recorder.memory_octets(), std::size_t{64} << 20);
    FlightRecorder::Position at = recorder.oldest();
    FlightRecorder::Kept kept;
    EXPECT_FALSE(recorder.next(at, kept));
}

TEST(FlightRecorder, has_room_for_one_frame_at_least) {
    FlightRecorder recorder({.memory_octets = 0, .frame_octets = 100'000});
    const std::string large(100'000, 'x');
    for (std::uint64_t number = 1; number <= 5; ++number) recorder.keep(frame_at(0, large, number));
    EXPECT_EQ(numbers_in(recorder), std::vector<std::uint64_t>{5});
    EXPECT_EQ(held_by(recorder)[0].bytes, large);
    EXPECT_EQ(recorder.extent().overwritten, 4U);
}

TEST(FlightRecorder, memory_that_cannot_be_had_is_told) {
    EXPECT_THROW(FlightRecorder({.memory_octets = std::size_t{1} << 62}), std::system_error);
}

/// The resident memory of this process, in octets.
std::size_t resident() {
    std::ifstream file("/proc/self/statm");
    std::size_t size = 0;
    std::size_t pages = 0;
    file >> size >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(FlightRecorder, untouched_memory_costs_nothing) {
    const std::size_t before = resident();
    FlightRecorder recorder({.memory_octets = std::size_t{1} << 30});
    for (std::uint64_t number = 1; number <= 1000; ++number) recorder.keep(frame_at(0, "hello", number));
    EXPECT_LT(resident(), before + (std::size_t{16} << 20));
}

TEST(FlightRecorder, the_replay_ends_when_the_sink_says_so_and_begins_where_asked_for) {
    FlightRecorder recorder({});
    for (std::uint64_t number = 1; number <= 9; ++number)
        recorder.keep(frame_at(static_cast<std::int64_t>(number) * 10, "x", number));
    int seen = 0;
    recorder.replay(always, [&seen](const wire::Frame&) { return ++seen < 3; });
    EXPECT_EQ(seen, 3);
    EXPECT_EQ(numbers_in(recorder, 70), (std::vector<std::uint64_t>{7, 8, 9}));
    EXPECT_EQ(numbers_in(recorder, 91), std::vector<std::uint64_t>{});
}

TEST(FlightRecorder, frames_older_than_asked_for_are_forgotten) {
    FlightRecorder recorder({.before_ns = 10 * second});
    recorder.keep(frame_at(100 * second, "a", 1));
    recorder.keep(frame_at(105 * second, "b", 2));
    recorder.keep(frame_at(110 * second, "c", 3));
    EXPECT_EQ(numbers_in(recorder), (std::vector<std::uint64_t>{1, 2, 3})) << "exactly ten seconds are not too old";
    recorder.keep(frame_at(110 * second + 1, "d", 4));
    EXPECT_EQ(numbers_in(recorder), (std::vector<std::uint64_t>{2, 3, 4}));
    const FlightRecorder::Extent extent = recorder.extent();
    EXPECT_EQ(extent.frames, 3U);
    EXPECT_EQ(extent.octets, 3U * 48);
    EXPECT_EQ(extent.first_ns, 105 * second);
    EXPECT_EQ(extent.last_ns, 110 * second + 1);
    EXPECT_EQ(extent.overwritten, 0U) << "there was memory for all";
}

TEST(FlightRecorder, a_late_frame_neither_empties_it_nor_makes_time_pass) {
    FlightRecorder recorder({.before_ns = 10 * second});
    recorder.keep(frame_at(100 * second, "a", 1));
    for (std::uint64_t i = 0; i < 1000; ++i) {
        recorder.keep(frame_at(105 * second, "b", 2));
        recorder.keep(frame_at(104 * second + 1, "c", 3));
    }
    EXPECT_EQ(recorder.clock_ns(), 5U * second);
    EXPECT_EQ(recorder.extent().frames, 2001U);
}

TEST(FlightRecorder, a_clock_set_back_goes_on_from_there) {
    FlightRecorder recorder({.before_ns = 10 * second});
    recorder.keep(frame_at(100'000 * second, "a", 1));
    recorder.keep(frame_at(100'004 * second, "b", 2));
    recorder.keep(frame_at(7 * second, "c", 3));
    EXPECT_EQ(numbers_in(recorder), (std::vector<std::uint64_t>{1, 2, 3}));
    recorder.keep(frame_at(13 * second, "d", 4));
    EXPECT_EQ(numbers_in(recorder), (std::vector<std::uint64_t>{1, 2, 3, 4})) << "4 + 6 seconds have passed";
    recorder.keep(frame_at(14 * second, "e", 5));
    EXPECT_EQ(numbers_in(recorder), (std::vector<std::uint64_t>{2, 3, 4, 5}));
    recorder.keep(frame_at(17 * second + 1, "f", 6));
    EXPECT_EQ(numbers_in(recorder), (std::vector<std::uint64_t>{4, 5, 6}))
        << "what has a time of the future grows old like anything else";
}

TEST(FlightRecorder, one_time_from_a_broken_clock_does_not_stop_forgetting) {
    FlightRecorder recorder({.before_ns = 10 * second});
    for (const std::int64_t broken : {std::numeric_limits<std::int64_t>::max(), always, std::int64_t{0}}) {
        recorder.keep(frame_at(100 * second, "a", 1));
        recorder.keep(frame_at(broken, "b", 2));
        recorder.keep(frame_at(101 * second, "c", 3));
        recorder.keep(frame_at(105 * second, "d", 4));
        recorder.keep(frame_at(112 * second, "e", 5));
        EXPECT_EQ(numbers_in(recorder), (std::vector<std::uint64_t>{4, 5})) << broken;
    }
}

TEST(FlightRecorder, interfaces_whose_clocks_differ_do_not_make_time_pass_twice) {
    FlightRecorder recorder({.before_ns = 10 * second});
    // An adapter's clock that counts TAI is 37 seconds ahead of one that counts UTC.
    for (std::int64_t i = 0; i <= 100; ++i)
        for (std::uint32_t interface = 0; interface < 2; ++interface) {
            wire::Frame frame = frame_at(1000 * second + i * second / 10 + 37 * second * interface, "x");
            frame.interface = interface;
            recorder.keep(frame);
        }
    EXPECT_EQ(recorder.clock_ns(), 10U * second);
    EXPECT_EQ(recorder.extent().frames, 202U);
}

TEST(FlightRecorder, an_interface_need_not_catch_up_with_another_whose_clock_was_set_forward) {
    FlightRecorder recorder({.before_ns = 10 * second});
    const auto pass = [&recorder](std::uint32_t interface, std::int64_t time_ns) {
        wire::Frame frame = frame_at(time_ns, "x", static_cast<std::uint64_t>(time_ns / second));
        frame.interface = interface;
        recorder.keep(frame);
    };
    pass(0, 10 * second);
    pass(1, 10 * second);
    pass(1, 3600 * second);
    for (std::int64_t at = 11; at <= 40; ++at) pass(0, at * second);
    EXPECT_EQ(numbers_in(recorder), (std::vector<std::uint64_t>{30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40}));
}

/// The same, said another way: records in a queue, each with the octets of memory that it covers.
class Model {
public:
    Model(std::uint64_t memory, std::uint32_t frame_octets, std::uint64_t before_ns)
        : memory_(memory), frame_octets_(frame_octets), before_ns_(before_ns) {}

    void keep(Kept frame, std::int64_t newest_ns) {
        frame.bytes.resize(std::min<std::size_t>(frame.bytes.size(), frame_octets_));
        const std::uint64_t size = 40 + (frame.bytes.size() + 7) / 8 * 8;
        newest_ns_ = newest_ns;
        if (at_ + size > memory_) {
            while (!held_.empty() && held_.front().begin >= at_) drop();
            at_ = 0;
        }
        while (!held_.empty() && held_.front().begin < at_ + size && held_.front().end > at_) drop();
        held_.push_back({at_, at_ + size, std::move(frame)});
        at_ += size;
    }
    bool is_old(const Kept& frame) const { return static_cast<std::uint64_t>(newest_ns_ - frame.time_ns) > before_ns_; }

    struct Record {
        std::uint64_t begin;
        std::uint64_t end;
        Kept frame;
    };
    const std::deque<Record>& held() const { return held_; }
    std::uint64_t overwritten = 0;

private:
    void drop() {
        if (!is_old(held_.front().frame)) ++overwritten;
        held_.pop_front();
    }
    std::uint64_t memory_;
    std::uint32_t frame_octets_;
    std::uint64_t before_ns_;
    std::uint64_t at_ = 0;
    std::int64_t newest_ns_ = 0;
    std::deque<Record> held_ = {};
};

void expect_same(const FlightRecorder& recorder, const Model& model) {
    std::vector<Kept> young;
    std::uint64_t octets = 0;
    for (const auto& record : model.held())
        if (!young.empty() || !model.is_old(record.frame)) {
            young.push_back(record.frame);
            octets += record.end - record.begin;
        }
    const std::vector<Kept> held = held_by(recorder);
    ASSERT_EQ(held.size(), young.size());
    for (std::size_t i = 0; i < held.size(); ++i) ASSERT_EQ(held[i], young[i]) << i;
    const FlightRecorder::Extent extent = recorder.extent();
    ASSERT_EQ(extent.frames, young.size());
    ASSERT_EQ(extent.octets, octets);
    ASSERT_EQ(extent.overwritten, model.overwritten);
    ASSERT_EQ(extent.first_ns, young.front().time_ns);
    ASSERT_EQ(extent.last_ns, young.back().time_ns);
}

struct Shape {
    std::size_t pages;
    std::uint32_t frame_octets;
    std::size_t longest;  ///< frame that is fed
    std::uint64_t before_ns;
    int frames;
    int look_every;
};

/// Random lengths end laps at every offset that a record can end at; each look compares all that is held.
TEST(FlightRecorder, agrees_with_a_queue) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::mt19937_64 random(20261121);
    for (const Shape& shape :
         {Shape{1, 192, 300, 1'000'000, 400'000, 37}, Shape{1, 0, 10, 1'000'000, 200'000, 41},
          Shape{3, 9000, 12'000, 1'000'000, 200'000, 3}, Shape{16, 192, 256, 20'000, 600'000, 1009},
          Shape{2, 1500, 1500, 3'000, 400'000, 29}, Shape{1, 4096, 5000, 1'000'000, 200'000, 1}}) {
        FlightRecorder recorder({shape.pages * page, shape.before_ns, shape.frame_octets});
        Model model(recorder.memory_octets(), shape.frame_octets, shape.before_ns);
        std::string octets(shape.longest, '\0');
        for (char& octet : octets) octet = static_cast<char>(random());
        std::int64_t now = 5;
        for (int i = 1; i <= shape.frames; ++i) {
            now += static_cast<std::int64_t>(random() % 200);
            const std::string_view data =
                std::string_view(octets).substr(random() % (shape.longest / 2 + 1), random() % (shape.longest + 1));
            wire::Frame frame = frame_at(now, data, static_cast<std::uint64_t>(i));
            frame.interface = static_cast<std::uint32_t>(random() % 3 * 64);  // they share a clock
            frame.direction = static_cast<wire::Direction>(random() % 3);
            recorder.keep(frame);
            model.keep(keep(frame), now);
            if (i % shape.look_every == 0) {
                ASSERT_NO_FATAL_FAILURE(expect_same(recorder, model)) << shape.frame_octets << ", frame " << i;
            }
        }
    }
}

/// Records of one size, for every size, so that every offset is the last that fits.
TEST(FlightRecorder, wraps_at_every_offset) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::string octets(page, 'x');
    for (std::size_t length = 0; length + 40 <= page; length += 8)
        for (const std::size_t other : {std::size_t{0}, std::size_t{8}, page - 40}) {
            FlightRecorder recorder({page, 1'000'000, static_cast<std::uint32_t>(page - 40)});
            ASSERT_EQ(recorder.memory_octets(), page);
            Model model(page, static_cast<std::uint32_t>(page), 1'000'000);
            const std::size_t rounds = 3 * page / (40 + length) + 3;
            for (std::size_t i = 1; i <= rounds; ++i) {
                const wire::Frame frame = frame_at(static_cast<std::int64_t>(i),
                                                   std::string_view(octets).substr(0, i % 7 == 6 ? other : length), i);
                recorder.keep(frame);
                model.keep(keep(frame), static_cast<std::int64_t>(i));
            }
            ASSERT_NO_FATAL_FAILURE(expect_same(recorder, model)) << length << ' ' << other;
        }
}

/// Readers of different pace: each gets every frame once and in order, or is told how many it missed.
TEST(FlightRecorder, a_place_stays_good_while_frames_are_kept) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::mt19937_64 random(5);
    FlightRecorder recorder({4 * page, 1'000'000'000, 500});
    const std::string octets(600, 'x');
    struct Reader {
        std::uint64_t pace;
        FlightRecorder::Position at = {};
        std::uint64_t got = 0;
        std::uint64_t missed = 0;
        std::uint64_t last = 0;
    };
    std::vector<Reader> readers{{1}, {2}, {20}, {333}, {5000}};
    constexpr std::uint64_t frames = 300'000;
    const auto read = [&recorder](Reader& reader) {
        FlightRecorder::Kept kept;
        for (std::uint64_t i = 0; i < reader.pace && recorder.next(reader.at, kept); ++i) {
            ASSERT_EQ(kept.frame.number, reader.last + kept.missed + 1);
            reader.last = kept.frame.number;
            reader.missed += kept.missed;
            ++reader.got;
        }
    };
    for (std::uint64_t number = 1; number <= frames; ++number) {
        recorder.keep(
            frame_at(static_cast<std::int64_t>(number), std::string_view(octets).substr(0, random() % 600), number));
        for (Reader& reader : readers)
            if (number % reader.pace == 0) {
                ASSERT_NO_FATAL_FAILURE(read(reader)) << reader.pace;
            }
    }
    for (Reader& reader : readers) {
        ASSERT_NO_FATAL_FAILURE(read(reader));
        EXPECT_EQ(reader.got + reader.missed, frames) << reader.pace;
        EXPECT_EQ(reader.missed > 0, reader.pace >= 333) << reader.pace << ": the ring holds some 48 frames";
        EXPECT_EQ(reader.at, recorder.end());
    }
}

}  // namespace
}  // namespace capture::test
