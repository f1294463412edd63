/// Frames of a flight recorder as pcapng octets in pieces: read again by the reader of files, which knows nothing of
/// them.
#include "daemon/recorder/frame_pieces.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "capture/files/file_source.h"

namespace {

using service::FramePieces;

struct Seen {
    std::string octets;
    std::string interface;
    std::string comment;
    std::int64_t time_ns = 0;
};

/// A frame of `octets` octets that are all `fill`.
void keep(capture::FlightRecorder& recorder, std::uint64_t number, std::size_t octets, std::uint32_t interface = 0) {
    const std::vector<std::byte> content(octets, static_cast<std::byte>(number));
    recorder.keep({.bytes = content,
                   .wire_length = static_cast<std::uint32_t>(octets),
                   .interface = interface,
                   .time_ns = 1'000'000'000 + static_cast<std::int64_t>(number),
                   .number = number});
}

std::vector<Seen> read_again(const std::string& pcapng) {
    std::string path = (std::filesystem::temp_directory_path() / "rdmascope-pieces-XXXXXX").string();
    const int made = ::mkstemp(path.data());
    EXPECT_GE(made, 0);
    std::ofstream(path, std::ios::binary) << pcapng;
    std::vector<Seen> all;
    {
        auto source = capture::open_file(path, {});
        EXPECT_TRUE(source) << source.error().text();
        wire::Frame frame;
        while (source && (*source)->next(frame) == capture::ReadStatus::frame)
            all.push_back({{reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()},
                           (*source)->interfaces()[frame.interface].name,
                           std::string(frame.comment),
                           frame.time_ns});
        EXPECT_TRUE(!source || (*source)->error().message.empty()) << (*source)->error().text();
    }
    std::filesystem::remove(path);
    return all;
}

std::vector<capture::InterfaceInfo> two_interfaces() {
    return {{.name = "eth0", .snaplen = 192}, {.name = "eth1", .snaplen = 192}};
}

TEST(FramePieces, WhatIsHeldComesInOrderAndEndsWhereItWasAsked) {
    capture::FlightRecorder recorder({.memory_octets = 1 << 20, .frame_octets = 192});
    for (std::uint64_t i = 1; i <= 100; ++i) keep(recorder, i, 60 + i, i % 2);
    FramePieces pieces(recorder, FramePieces::From::oldest, two_interfaces());
    keep(recorder, 101, 60);  // after it was asked for
    std::string out;
    EXPECT_EQ(pieces.append(recorder, two_interfaces(), out), FramePieces::Step::ended);
    const std::vector<Seen> seen = read_again(out);
    ASSERT_EQ(seen.size(), 100U);
    for (std::size_t i = 0; i < seen.size(); ++i) {
        EXPECT_EQ(seen[i].octets, std::string(61 + i, static_cast<char>(i + 1)));
        EXPECT_EQ(seen[i].interface, (i + 1) % 2 == 0 ? "eth0" : "eth1");
        EXPECT_EQ(seen[i].time_ns, 1'000'000'001 + static_cast<std::int64_t>(i));
        EXPECT_TRUE(seen[i].comment.empty());
    }
}

TEST(FramePieces, FromNowOnComesWhatFollows) {
    capture::FlightRecorder recorder({.memory_octets = 1 << 20, .frame_octets = 192});
    keep(recorder, 1, 60);
    FramePieces pieces(recorder, FramePieces::From::now, two_interfaces());
    std::string out;
    EXPECT_EQ(pieces.append(recorder, two_interfaces(), out), FramePieces::Step::all);
    EXPECT_FALSE(out.empty()) << "a reader learns of the interfaces before the first frame";
    EXPECT_TRUE(read_again(out).empty());
    keep(recorder, 2, 60);
    EXPECT_EQ(pieces.append(recorder, two_interfaces(), out), FramePieces::Step::all);
    ASSERT_EQ(read_again(out).size(), 1U);
    EXPECT_EQ(read_again(out)[0].octets, std::string(60, '\2'));
}

TEST(FramePieces, AnInterfaceThatComesLaterIsDescribed) {
    capture::FlightRecorder recorder({.memory_octets = 1 << 20, .frame_octets = 192});
    FramePieces pieces(recorder, FramePieces::From::now, {});
    keep(recorder, 1, 60, 1);
    std::string out;
    pieces.append(recorder, two_interfaces(), out);
    ASSERT_EQ(read_again(out).size(), 1U);
    EXPECT_EQ(read_again(out)[0].interface, "eth1");
}

TEST(FramePieces, AnInterfaceThatHasGoneIsDescribedByItsFramesAlone) {
    capture::FlightRecorder recorder({.memory_octets = 1 << 20, .frame_octets = 192});
    keep(recorder, 1, 60, 1);
    std::string without;
    std::string with;
    FramePieces now(recorder, FramePieces::From::now, two_interfaces(), {false, true});
    now.append(recorder, two_interfaces(), without);
    EXPECT_NE(without.find("eth0"), std::string::npos);
    EXPECT_EQ(without.find("eth1"), std::string::npos);
    FramePieces oldest(recorder, FramePieces::From::oldest, two_interfaces(), {false, true});
    oldest.append(recorder, two_interfaces(), with);
    ASSERT_EQ(read_again(with).size(), 1U);
    EXPECT_EQ(read_again(with)[0].interface, "eth1");
}

TEST(FramePieces, ANumberThatAnotherInterfaceHasNowIsTheOther_s) {
    capture::FlightRecorder recorder({.memory_octets = 1 << 20, .frame_octets = 192});
    FramePieces pieces(recorder, FramePieces::From::now, two_interfaces());
    std::vector<capture::InterfaceInfo> interfaces = two_interfaces();
    std::string out;
    keep(recorder, 1, 60, 1);
    pieces.append(recorder, interfaces, out);
    interfaces[1].name = "veth7";
    keep(recorder, 2, 60, 1);
    pieces.append(recorder, interfaces, out);
    const std::vector<Seen> seen = read_again(out);
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0].interface, "eth1");
    EXPECT_EQ(seen[1].interface, "veth7");
}

TEST(FramePieces, APieceIsBounded) {
    capture::FlightRecorder recorder({.memory_octets = 16 << 20, .frame_octets = 4096});
    for (std::uint64_t i = 1; i <= 3000; ++i) keep(recorder, i, 4096);
    FramePieces pieces(recorder, FramePieces::From::oldest, two_interfaces());
    std::string out;
    std::size_t steps = 1;
    for (std::size_t before = 0; pieces.append(recorder, two_interfaces(), out) == FramePieces::Step::piece; ++steps) {
        EXPECT_LE(out.size() - before, (1U << 20) + 8192);
        before = out.size();
    }
    EXPECT_GE(steps, 12U) << "3000 frames of 4 KiB are 12 MiB";
    EXPECT_EQ(read_again(out).size(), 3000U);
}

TEST(FramePieces, WhatGaveWayIsCountedOnTheNextFrame) {
    capture::FlightRecorder recorder({.memory_octets = 64 << 10, .frame_octets = 1024});
    FramePieces pieces(recorder, FramePieces::From::now, two_interfaces());
    for (std::uint64_t i = 1; i <= 1000; ++i) keep(recorder, i, 1000);
    std::string out;
    EXPECT_EQ(pieces.append(recorder, two_interfaces(), out), FramePieces::Step::all);
    const std::vector<Seen> seen = read_again(out);
    ASSERT_FALSE(seen.empty());
    ASSERT_LT(seen.size(), 70U) << "64 KiB";
    EXPECT_EQ(seen[0].comment.substr(0, seen[0].comment.find(' ')), std::to_string(1000 - seen.size()));
    for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_TRUE(seen[i].comment.empty());
}

TEST(FramePieces, WhereAllThatWasHeldGaveWayNothingFollows) {
    capture::FlightRecorder recorder({.memory_octets = 64 << 10, .frame_octets = 1024});
    for (std::uint64_t i = 1; i <= 10; ++i) keep(recorder, i, 1000);
    FramePieces pieces(recorder, FramePieces::From::oldest, two_interfaces());
    for (std::uint64_t i = 11; i <= 1000; ++i) keep(recorder, i, 1000);
    std::string out;
    EXPECT_EQ(pieces.append(recorder, two_interfaces(), out), FramePieces::Step::ended);
    EXPECT_TRUE(read_again(out).empty());
}

}  // namespace
