#include "daemon/recorder/recordings.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <set>
#include <sstream>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

#include "daemon/recorder/recording_folder.h"
#include "daemon/recorder/recording_names.h"
#include "tests/unit/capture/support.h"

namespace service::test {
namespace {

using capture::test::Contents;
using capture::test::Directory;
using capture::test::load;
using capture::test::read_all;
using capture::test::save;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1'000 * ms;
/// 2026-11-21T10:15:30.123Z, as date(1) says: date -u -d 2026-11-21T10:15:30.123Z +%s%3N
constexpr std::int64_t incident_ns = 1'795'256'130'123 * ms;

const std::vector<capture::InterfaceInfo> two_interfaces{
    {.name = "eth0", .filter = "udp port 4791", .snaplen = 192, .ticks_per_sec = 1'000'000'000},
    {.name = "eth1", .filter = "tcp", .snaplen = 96, .ticks_per_sec = 1'000'000'000}};

std::set<std::string> names_in(const std::string& directory) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        names.insert(entry.path().filename().string());
    return names;
}

/// Empty after success.
std::string reason_of(const base::Result<void>& result) { return result ? "" : result.error().text(); }

/// Traffic, the flight recorder and the recordings, as the daemon puts them together. Frame n passes at n ms.
class Machine {
public:
    explicit Machine(RecordingsOptions options, capture::FlightRecorderOptions past = {})
        : recorder(past), recordings(std::move(options)) {}

    /// The next frames, in batches. A frame's octets say its number.
    void pass(int frames, int batch = 64) {
        for (int i = 0; i < frames; ++i) {
            const std::string octets = octets_of(++number);
            wire::Frame frame;
            frame.bytes = std::as_bytes(std::span(octets));
            frame.wire_length = 1000;
            frame.time_ns = time_of(number);
            frame.number = number;
            frame.interface = number % 3 == 0 ? 1 : 0;
            frame.direction = wire::Direction::inbound;
            recorder.keep(frame);
            recordings.frame(frame, interfaces);
            if (i % batch == batch - 1) recordings.progress(recorder, now());
        }
        recordings.progress(recorder, now());
    }
    /// Empty if the recording has begun; else why not.
    std::string begin(const Incident& incident) {
        return reason_of(recordings.begin(incident, recorder, interfaces, now()));
    }
    /// Time goes on without frames.
    void wait(std::int64_t ns) {
        lag += ns;
        recordings.progress(recorder, now());
    }
    /// Until what is closed has its name.
    void settle() {
        for (int i = 0; i < 2000 && recordings.recording(); ++i) {
            recordings.progress(recorder, now());
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        ASSERT_FALSE(recordings.recording());
    }
    /// An Ethernet frame of an experimental EtherType, with its number in text.
    static std::string octets_of(std::uint64_t number) {
        std::string octets("\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5", 14);
        octets += fmt::format("frame {}", number);
        return octets.append(number % 50, 'x');
    }
    static std::int64_t time_of(std::uint64_t n) { return incident_ns - 100 * ms + static_cast<std::int64_t>(n) * ms; }
    std::int64_t now() const { return time_of(number) + lag; }

    capture::FlightRecorder recorder;
    Recordings recordings;
    std::vector<capture::InterfaceInfo> interfaces = two_interfaces;
    std::uint64_t number = 0;
    std::int64_t lag = 0;
};

std::vector<std::uint64_t> numbers_in(const Contents& contents) {
    std::vector<std::uint64_t> numbers;
    for (const auto& frame : contents.frames) {
        const std::size_t at = frame.bytes.find("frame ");
        numbers.push_back(at == std::string::npos ? 0 : std::stoull(frame.bytes.substr(at + 6)));
    }
    return numbers;
}
std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t n = first; n <= last; ++n) numbers.push_back(n);
    return numbers;
}

const Incident nak_storm{"nak_storm", "storage-3 -> compute-7 QP 0x11: naks 212 > 100", {7, 9}, {98, 95, 5000}};
const std::string nak_storm_name = "rdmascope-20261121T101530.123Z-nak_storm.pcapng";

TEST(Recordings, hold_what_was_before_and_after_with_the_reason) {
    const Directory directory;
    Machine machine({.directory = directory.path(), .after_ns = 50 * ms});
    machine.pass(100);
    ASSERT_EQ(machine.begin(nak_storm), "");
    EXPECT_THAT(names_in(directory.path()), ElementsAre('.' + nak_storm_name + ".part"));
    machine.pass(80);
    machine.settle();
    EXPECT_THAT(names_in(directory.path()), ElementsAre(nak_storm_name));

    const Contents got = read_all(directory / nak_storm_name);
    EXPECT_EQ(got.status, capture::ReadStatus::end) << got.error;
    EXPECT_EQ(numbers_in(got), from_to(1, 150));
    EXPECT_THAT(got.sections.at(0).comment, HasSubstr("nak_storm: storage-3 -> compute-7 QP 0x11: naks 212 > 100\n"));
    EXPECT_THAT(got.sections.at(0).comment, HasSubstr("flows: 7, 9"));
    EXPECT_THAT(got.sections.at(0).application, HasSubstr("rdmascope"));
    ASSERT_THAT(got.interfaces, SizeIs(2));
    EXPECT_EQ(got.interfaces[0].name, "eth0");
    EXPECT_EQ(got.interfaces[0].filter, "udp port 4791");
    EXPECT_EQ(got.interfaces[0].snaplen, 192U);
    EXPECT_EQ(got.interfaces[1].name, "eth1");
    for (std::size_t i = 0; i < got.frames.size(); ++i) {
        const auto& frame = got.frames[i];
        ASSERT_EQ(frame.bytes, Machine::octets_of(i + 1));
        ASSERT_EQ(frame.time_ns, Machine::time_of(i + 1));
        ASSERT_EQ(frame.wire_length, 1000U);
        ASSERT_EQ(frame.interface, (i + 1) % 3 == 0 ? 1U : 0U);
        ASSERT_EQ(frame.direction, wire::Direction::inbound);
        const bool shows = i + 1 == 95 || i + 1 == 98;
        ASSERT_EQ(frame.comment, shows ? fmt::format("nak_storm: {} (frame {} of the daemon)", nak_storm.reason, i + 1)
                                       : std::string());
    }
    const RecordingsCounters& counters = machine.recordings.counters();
    EXPECT_EQ(counters.begun, 1U);
    EXPECT_EQ(counters.finished, 1U);
    EXPECT_EQ(counters.failed + counters.suppressed + counters.removed + counters.missed_frames, 0U);
    EXPECT_EQ(counters.last_path, directory / nak_storm_name);
    const auto messages = machine.recordings.messages();
    ASSERT_THAT(messages, SizeIs(1));
    EXPECT_FALSE(messages[0].wrong);
    EXPECT_THAT(messages[0].text, HasSubstr(nak_storm_name + ": 150 frames, 2 of 3 that show it commented"));
    EXPECT_THAT(machine.recordings.messages(), IsEmpty()) << "each is told once";
    struct stat status = {};
    ASSERT_EQ(::stat((directory / nak_storm_name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0007, 0U) << "not for everybody";
}

std::string output_of(const std::string& command, int* status = nullptr) {
    std::string output;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return output;
    std::array<char, 4096> piece;
    for (std::size_t got; (got = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
        output.append(piece.data(), got);
    const int ended = ::pclose(pipe);
    if (status != nullptr) *status = ended;
    return output;
}

TEST(Recordings, are_read_by_tshark) {
    if (std::system("command -v tshark >/dev/null 2>&1") != 0) GTEST_SKIP() << "tshark is not installed";
    const Directory directory;
    Machine machine({.directory = directory.path(), .after_ns = 50 * ms});
    machine.pass(100);
    ASSERT_EQ(machine.begin(nak_storm), "");
    machine.pass(80);
    machine.settle();

    int status = 0;
    std::istringstream lines(output_of("tshark -r '" + (directory / nak_storm_name) +
                                           "' -T fields -e frame.time_epoch -e frame.len -e frame.cap_len "
                                           "-e frame.interface_name -e frame.comment 2>/dev/null",
                                       &status));
    ASSERT_EQ(status, 0);
    std::uint64_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        const std::int64_t time_ns = Machine::time_of(number);
        const std::string comment = number == 95 || number == 98 ? fmt::format("nak_storm: {} (frame {} of the daemon)",
                                                                               nak_storm.reason, number)
                                                                 : "";
        EXPECT_EQ(line, fmt::format("{}.{:09}\t1000\t{}\t{}\t{}", time_ns / second, time_ns % second,
                                    Machine::octets_of(number).size(), number % 3 == 0 ? "eth1" : "eth0", comment));
    }
    EXPECT_EQ(number, 150U);
    const std::string header = output_of("capinfos -k '" + (directory / nak_storm_name) + "' 2>/dev/null");
    if (!header.empty()) {
        EXPECT_THAT(header, HasSubstr(nak_storm.reason));
    }
}

TEST(Recordings, end_by_the_wall_clock_where_nothing_passes) {
    const Directory directory;
    Machine machine({.directory = directory.path(), .after_ns = 50 * ms});
    machine.pass(100);
    ASSERT_EQ(machine.begin(nak_storm), "");
    machine.wait(299 * ms);
    EXPECT_THAT(names_in(directory.path()), ElementsAre('.' + nak_storm_name + ".part")) << "frames may come late";
    machine.wait(ms);
    machine.settle();
    EXPECT_EQ(numbers_in(read_all(directory / nak_storm_name)), from_to(1, 100));
}

TEST(Recordings, a_clock_that_is_set_does_not_keep_a_file_open) {
    const Directory directory;
    Machine machine({.directory = directory.path(), .after_ns = 50 * ms});
    machine.pass(100);
    ASSERT_EQ(machine.begin(nak_storm), "");
    machine.wait(-3600 * second);
    machine.wait(299 * ms);
    EXPECT_TRUE(machine.recordings.recording());
    machine.wait(ms);
    machine.settle();
}

TEST(Recordings, nothing_is_written_twice_or_left_out_whatever_the_pace) {
    for (const int batch : {1, 7, 1000, 20'000}) {
        const Directory directory;
        Machine machine({.directory = directory.path(), .after_ns = 15'000 * ms},
                        {.memory_octets = 8 << 20, .before_ns = 100'000 * std::uint64_t{ms}});
        machine.pass(30'000);
        ASSERT_EQ(machine.begin({"manual", "asked for", {}, {}}), "");
        machine.pass(20'000, batch);
        machine.settle();
        ASSERT_EQ(machine.recordings.counters().finished, 1U);
        EXPECT_EQ(numbers_in(read_all(machine.recordings.counters().last_path)), from_to(1, 45'000)) << batch;
        EXPECT_EQ(machine.recordings.counters().missed_frames, 0U);
    }
}

TEST(Recordings, the_past_of_a_ring_that_wraps_is_written_before_it_gives_way) {
    const Directory directory;
    Machine machine({.directory = directory.path(), .after_ns = 20'000 * ms},
                    {.memory_octets = 1 << 20, .before_ns = 100'000 * std::uint64_t{ms}});
    machine.pass(29'999);  // some 12,000 of them stay
    const std::uint64_t held = machine.recorder.extent().frames;
    ASSERT_LT(held, 30'000U);
    ASSERT_EQ(machine.begin({"manual", "asked for", {}, {}}), "");
    machine.pass(21'000, 512);
    machine.settle();
    EXPECT_EQ(machine.recordings.counters().missed_frames, 0U);
    EXPECT_EQ(numbers_in(read_all(machine.recordings.counters().last_path)), from_to(30'000 - held, 49'999));
}

TEST(Recordings, what_gave_way_too_early_is_counted_and_said) {
    const Directory directory;
    Machine machine({.directory = directory.path(), .after_ns = 50'000 * ms},
                    {.memory_octets = 64 << 10, .before_ns = 100'000 * std::uint64_t{ms}});
    machine.pass(1000);
    const std::uint64_t held = machine.recorder.extent().frames;
    ASSERT_EQ(machine.begin({"manual", "asked for", {}, {}}), "");
    machine.pass(5000, 5000);  // much more than memory holds, at once
    machine.pass(50'000, 64);
    machine.settle();
    const Contents got = read_all(machine.recordings.counters().last_path);
    const std::uint64_t missed = machine.recordings.counters().missed_frames;
    EXPECT_GT(missed, 4000U);
    EXPECT_EQ(got.frames.size() + missed, held + 50'000);
    const auto numbers = numbers_in(got);
    EXPECT_EQ(std::set<std::uint64_t>(numbers.begin(), numbers.end()).size(), numbers.size());
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    std::uint64_t last = 1000 - held;
    for (std::size_t i = 0; i < got.frames.size(); last = numbers[i++])
        EXPECT_EQ(got.frames[i].comment.empty(), numbers[i] == last + 1) << numbers[i];
    EXPECT_THAT(machine.recordings.messages().at(0).text, HasSubstr(fmt::format(", {} missing", missed)));
}

TEST(Recordings, are_no_larger_than_allowed_and_keep_the_end_of_the_past) {
    const Directory directory;
    constexpr std::uint64_t most = 100'000;
    Machine machine({.directory = directory.path(), .after_ns = 60'000 * ms, .max_file_octets = most},
                    {.before_ns = 100'000 * std::uint64_t{ms}});
    machine.pass(10'000);
    ASSERT_EQ(machine.begin({"manual", "asked for", {}, {}}), "");
    machine.pass(10'000);
    machine.settle();
    const std::string path = machine.recordings.counters().last_path;
    EXPECT_LE(std::filesystem::file_size(path), most);
    EXPECT_GT(std::filesystem::file_size(path), most - 1000);
    const auto numbers = numbers_in(read_all(path));
    EXPECT_EQ(numbers, from_to(numbers.front(), numbers.back()));
    EXPECT_LT(numbers.front(), 9'700U);
    EXPECT_GT(numbers.front(), 9'400U) << "half of it: 50,000 octets are some 500 frames";
    EXPECT_GT(numbers.back(), 10'300U);
    EXPECT_THAT(machine.recordings.messages().at(0).text, HasSubstr("as large as it may be"));
}

TEST(Recordings, large_pieces_are_bounded_by_octets) {
    const Directory directory;
    Machine machine({.directory = directory.path()}, {.frame_octets = 65'535});
    const std::string octets(60'000, 'x');
    wire::Frame frame;
    frame.bytes = std::as_bytes(std::span(octets));
    frame.time_ns = incident_ns;
    for (int i = 0; i < 500; ++i) machine.recorder.keep(frame);
    machine.lag = incident_ns - machine.now();
    ASSERT_EQ(machine.begin(nak_storm), "");
    const std::string hidden = directory / ('.' + nak_storm_name + ".part");
    machine.recordings.progress(machine.recorder, machine.now());
    EXPECT_LT(std::filesystem::file_size(hidden), std::uintmax_t{3} << 20);
    static_cast<void>(machine.recordings.finish(machine.recorder));
    EXPECT_EQ(read_all(directory / nak_storm_name).frames.size(), 500U);
}

TEST(Recordings, one_at_a_time_and_a_pause_for_each_trigger) {
    const Directory directory;
    Machine machine({.directory = directory.path(), .after_ns = 50 * ms, .pause_ns = 60 * std::uint64_t{second}});
    machine.pass(100);
    ASSERT_EQ(machine.begin({"a", "first", {}, {}}), "");
    EXPECT_EQ(machine.begin({"a", "again", {}, {}}), "a recording of 'a' is under way");
    EXPECT_EQ(machine.begin({"b", "another", {}, {}}), "a recording of 'a' is under way");
    machine.wait(second);
    machine.settle();
    EXPECT_EQ(machine.begin({"a", "again", {}, {}}), "paused for another 59.0 s");
    EXPECT_EQ(machine.begin({"b", "another", {}, {}}), "");
    machine.wait(second);
    machine.settle();
    machine.wait(58 * second - 1);
    EXPECT_EQ(machine.begin({"a", "again", {}, {}}), "paused for another 1 ns");
    machine.wait(1);
    EXPECT_EQ(machine.begin({"a", "again", {}, {}}), "");
    EXPECT_EQ(machine.recordings.counters().suppressed, 4U);
    EXPECT_EQ(machine.recordings.counters().begun, 3U);
}

TEST(Recordings, a_clock_set_back_does_not_make_the_pause_longer) {
    const Directory directory;
    Machine machine({.directory = directory.path(), .after_ns = 50 * ms, .pause_ns = 60 * std::uint64_t{second}});
    machine.pass(100);
    ASSERT_EQ(machine.begin({"a", "first", {}, {}}), "");
    machine.wait(second);
    machine.settle();
    machine.lag = -3600 * second;
    EXPECT_EQ(machine.begin({"a", "again", {}, {}}), "paused for another 60.0 s");
    machine.wait(60 * second);
    EXPECT_EQ(machine.begin({"a", "again", {}, {}}), "");
}

TEST(Recordings, the_newest_files_stay_and_nothing_else_is_touched) {
    const Directory directory;
    const std::vector<std::string> others{"notes.txt",
                                          "rdmascope-latest.pcapng",
                                          "rdmascope-20200101T000000.000Z-.pcapng",
                                          "rdmascope-20200101T000000.000Z-a.pcapng.gz",
                                          "rdmascope-2020.pcapng",
                                          "my-rdmascope-20200101T000000.000Z-a.pcapng",
                                          "rdmascope-20200101T000000.000Z-a b.pcapng"};
    for (const std::string& name : others) save(directory / name, "x");
    std::filesystem::create_directory(directory / "rdmascope-20200101T000000.000Z-folder.pcapng");
    save(directory / "rdmascope-20200101T000000.000Z-old.pcapng", "x");
    save(directory / "rdmascope-20991231T235959.999Z-to_come.pcapng", "x");  // from a clock that was wrong then
    Machine machine({.directory = directory.path(), .after_ns = 50 * ms, .max_files = 3, .pause_ns = 0});
    for (int i = 1; i <= 5; ++i) {
        machine.pass(100);
        ASSERT_EQ(machine.begin({fmt::format("t{}", i), "r", {}, {}}), "");
        static_cast<void>(machine.recordings.finish(machine.recorder));
    }
    std::set<std::string> names = names_in(directory.path());
    for (const std::string& name : others) EXPECT_EQ(names.erase(name), 1U) << name;
    EXPECT_EQ(names.erase("rdmascope-20200101T000000.000Z-folder.pcapng"), 1U);
    EXPECT_THAT(names,
                ElementsAre("rdmascope-20261121T101530.323Z-t3.pcapng", "rdmascope-20261121T101530.423Z-t4.pcapng",
                            "rdmascope-20261121T101530.523Z-t5.pcapng"));
    EXPECT_EQ(machine.recordings.counters().removed, 4U);
}

TEST(Recordings, two_of_the_same_moment_have_two_names) {
    const Directory directory;
    Machine machine({.directory = directory.path(), .pause_ns = 0});
    machine.pass(100);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(machine.begin(nak_storm), "");
        static_cast<void>(machine.recordings.finish(machine.recorder));
    }
    EXPECT_THAT(names_in(directory.path()), SizeIs(3));
}

TEST(Recordings, names_are_plain_whatever_the_trigger_is_called) {
    EXPECT_EQ(recording_name(incident_ns, "nak_storm"), nak_storm_name);
    EXPECT_EQ(recording_name(incident_ns, "../etc/x y\n"), "rdmascope-20261121T101530.123Z-___etc_x_y_.pcapng");
    EXPECT_EQ(recording_name(0, ""), "rdmascope-19700101T000000.000Z-unnamed.pcapng");
    EXPECT_EQ(recording_name(-1, "x"), "rdmascope-19691231T235959.999Z-x.pcapng");
    for (const std::string& trigger : {std::string(1000, 'x'), std::string("\xff\0/", 3), std::string()})
        EXPECT_TRUE(is_recording(recording_name(incident_ns, trigger)));
}

TEST(Recordings, what_a_dead_process_left_is_removed_and_what_a_living_one_writes_is_not) {
    const Directory directory;
    const std::string dead = directory / ".rdmascope-20261121T101530.123Z-a.pcapng.part";
    const std::string living = directory / ".rdmascope-20261121T101530.123Z-b.pcapng.part";
    const std::string foreign = directory / ".notes.part";
    for (const std::string& path : {dead, living, foreign}) save(path, "x");
    const int held = ::open(living.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
    const Recordings recordings({.directory = directory.path()});
    EXPECT_FALSE(std::filesystem::exists(dead));
    EXPECT_TRUE(std::filesystem::exists(living));
    EXPECT_TRUE(std::filesystem::exists(foreign));
    ::close(held);
}

TEST(Recordings, finishing_writes_what_is_held) {
    const Directory directory;
    Machine machine({.directory = directory.path(), .after_ns = 3600 * std::uint64_t{second}},
                    {.before_ns = 3600 * std::uint64_t{second}});
    machine.pass(50'000);
    ASSERT_EQ(machine.begin(nak_storm), "");
    EXPECT_TRUE(machine.recordings.finish(machine.recorder));
    EXPECT_FALSE(machine.recordings.recording());
    EXPECT_EQ(numbers_in(read_all(machine.recordings.counters().last_path)), from_to(1, 50'000));
}

TEST(Recordings, what_is_not_finished_leaves_nothing) {
    const Directory directory;
    {
        Machine machine({.directory = directory.path()});
        machine.pass(100);
        ASSERT_EQ(machine.begin(nak_storm), "");
        machine.pass(10);
    }
    EXPECT_THAT(names_in(directory.path()), IsEmpty());
}

TEST(Recordings, interfaces_that_come_later_are_known_and_changed_filters_make_no_new_ones) {
    const Directory directory;
    Machine machine({.directory = directory.path(), .after_ns = 50 * ms});
    machine.interfaces.resize(1);
    machine.pass(1);
    ASSERT_EQ(machine.begin(nak_storm), "");
    machine.interfaces = two_interfaces;
    machine.interfaces[0].filter = "udp";
    machine.pass(100);
    machine.settle();
    const Contents got = read_all(machine.recordings.counters().last_path);
    ASSERT_THAT(got.interfaces, SizeIs(2));
    EXPECT_EQ(got.interfaces[0].filter, "udp port 4791");
    EXPECT_EQ(got.interfaces[1].name, "eth1");
}

TEST(Recordings, without_a_directory_nothing_is_recorded) {
    Machine machine({});
    machine.pass(10);
    EXPECT_THAT(machine.begin(nak_storm), HasSubstr("recorder.directory"));
    EXPECT_FALSE(machine.recordings.recording());
}

TEST(Recordings, a_directory_is_made_and_one_that_cannot_be_is_told) {
    const Directory directory;
    Machine machine({.directory = directory / "made/with/parents", .pause_ns = 0});
    machine.pass(10);
    EXPECT_EQ(machine.begin(nak_storm), "");
    static_cast<void>(machine.recordings.finish(machine.recorder));
    EXPECT_EQ(machine.recordings.counters().finished, 1U);

    save(directory / "file", "x");
    machine.recordings.messages();
    for (const char* const name : {"file/below", "file"}) {
        machine.recordings.set_options({.directory = directory / name, .pause_ns = 0});
        const auto told = machine.recordings.messages();
        ASSERT_THAT(told, SizeIs(1)) << "before there is an incident";
        EXPECT_TRUE(told[0].wrong);
        EXPECT_THAT(told[0].text, HasSubstr("Not a directory; name a directory"));
    }
    EXPECT_THAT(machine.begin(nak_storm), HasSubstr("Not a directory"));
    EXPECT_EQ(machine.recordings.counters().failed, 1U);
    EXPECT_THAT(machine.recordings.messages().at(0).text, HasSubstr("no recording of 'nak_storm'"));
    machine.recordings.set_options({.directory = directory.path(), .pause_ns = 0});
    EXPECT_EQ(machine.begin(nak_storm), "") << "as soon as it can be";
}

TEST(Recordings, whether_files_can_be_made_is_known_beforehand) {
    const Directory directory;
    EXPECT_EQ(reason_of(prepare_recording_folder(directory / "a/b/c")), "");
    EXPECT_TRUE(std::filesystem::is_directory(directory / "a/b/c"));
    EXPECT_THAT(names_in(directory / "a/b/c"), IsEmpty());
    EXPECT_THAT(reason_of(prepare_recording_folder("/dev/full")),
                HasSubstr("/dev/full: no file can be made there: Not a directory"));
    EXPECT_THAT(reason_of(prepare_recording_folder("/proc/no/such")), HasSubstr("/proc/no/such"));
}

TEST(Recordings, a_directory_that_vanishes_is_told) {
    const Directory directory;
    Machine machine({.directory = directory / "gone", .after_ns = 50 * ms, .pause_ns = 0});
    machine.pass(100);
    ASSERT_EQ(machine.begin(nak_storm), "");
    machine.pass(10);
    std::filesystem::remove_all(directory / "gone");
    machine.pass(90);
    machine.settle();
    EXPECT_EQ(machine.recordings.counters().failed, 1U);
    EXPECT_EQ(machine.recordings.counters().finished, 0U);
    EXPECT_THAT(machine.recordings.messages().at(0).text, HasSubstr("a recording is lost"));
    EXPECT_THAT(machine.begin(nak_storm), HasSubstr("No such file"));
}

/// In a child process, so that its limit and its mounts are its own.
int in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

/// 0 where a recording fails as it ought to, and leaves no file.
int fails_for_lack_of_room(const std::string& directory, const char* why) {
    Machine machine({.directory = directory, .after_ns = second});
    machine.pass(5000);
    if (!machine.begin(nak_storm).empty()) return 1;
    machine.pass(5000);
    machine.settle();
    if (machine.recordings.counters().failed != 1 || machine.recordings.counters().finished != 0) return 2;
    const auto messages = machine.recordings.messages();
    if (messages.size() != 1 || !messages[0].wrong || messages[0].text.find(why) == std::string::npos) return 3;
    if (!names_in(directory).empty()) return 4;
    // What failed before is no failure of the end; what the end loses is one.
    if (!machine.recordings.finish(machine.recorder)) return 5;
    machine.wait(3600 * second);
    if (!machine.begin(nak_storm).empty()) return 6;
    return machine.recordings.finish(machine.recorder) ? 7 : 0;
}

TEST(Recordings, a_limit_of_file_sizes_fails_the_recording_alone) {
    const Directory directory;
    EXPECT_EQ(in_child([&] {
                  ::signal(SIGXFSZ, SIG_IGN);
                  const rlimit limit{100'000, 100'000};
                  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 100;
                  return fails_for_lack_of_room(directory.path(), "File too large");
              }),
              0);
}

TEST(Recordings, a_full_disk_fails_the_recording_alone) {
    const Directory directory;
    const int result = in_child([&] {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=128k") != 0)
            return 77;
        return fails_for_lack_of_room(directory.path(), "No space left");
    });
    if (result == 77) GTEST_SKIP() << "no permission to mount a small file system";
    EXPECT_EQ(result, 0);
}

TEST(Recordings, a_directory_that_is_read_only_is_told) {
    const Directory directory;
    const int result = in_child([&] {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", directory.path().c_str(), "tmpfs", MS_RDONLY, nullptr) != 0)
            return 77;
        Machine machine({.directory = directory.path()});
        machine.pass(10);
        const std::string why = machine.begin(nak_storm);
        return why.find("Read-only file system; let the daemon's user write there") == std::string::npos ? 1 : 0;
    });
    if (result == 77) GTEST_SKIP() << "no permission to mount a file system";
    EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace service::test
