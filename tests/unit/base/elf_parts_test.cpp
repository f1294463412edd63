#include "base/elf_parts.h"

#include <elf.h>
#include <gtest/gtest.h>

namespace base::elf {
namespace {

TEST(ElfParts, RecordsLieWithinTheFile) {
    const std::string octets("\1\0\0\0\2\0\0\0", 8);
    EXPECT_EQ(record_at<std::uint32_t>(octets, 4), 2u);
    EXPECT_FALSE(record_at<std::uint32_t>(octets, 5));
    EXPECT_FALSE(record_at<std::uint32_t>(octets, 8));
    EXPECT_FALSE(record_at<std::uint32_t>(octets, UINT64_MAX));
}

TEST(ElfParts, NamesEndWithinTheTable) {
    const std::string table("\0one\0two", 8);
    EXPECT_EQ(name_at(table, 1), "one");
    EXPECT_EQ(name_at(table, 0), "");
    EXPECT_EQ(name_at(table, 5), "") << "its end is beyond the table's";
    EXPECT_EQ(name_at(table, 8), "");
    EXPECT_EQ(name_at(table, UINT64_MAX), "");
    EXPECT_EQ(name_at(table, 1, 3), "") << "longer than names may be";
    EXPECT_EQ(name_at(table, 1, 4), "one");
}

TEST(ElfParts, AddressesOfSegmentsHaveAPlaceInTheFile) {
    const std::vector<Segment> segments{{0x1000, 0x100, 0x40}, {UINT64_MAX - 1, 2, 0x200}};
    EXPECT_EQ(offset_of(segments, 0x1000), 0x40u);
    EXPECT_EQ(offset_of(segments, 0x10ff), 0x13fu);
    EXPECT_FALSE(offset_of(segments, 0x1100));
    EXPECT_FALSE(offset_of(segments, 0xfff));
    EXPECT_EQ(offset_of(segments, UINT64_MAX), 0x201u);
}

std::string note(std::uint32_t type, const std::string& owner, const std::string& content) {
    std::string octets;
    for (const auto number :
         {static_cast<std::uint32_t>(owner.size() + 1), static_cast<std::uint32_t>(content.size()), type})
        octets.append(reinterpret_cast<const char*>(&number), sizeof number);
    octets += owner;
    octets.append(4 - owner.size() % 4, '\0');
    octets += content;
    octets.append((4 - content.size() % 4) % 4, '\0');
    return octets;
}

TEST(ElfParts, NotesAreReadInTheirOrder) {
    const std::string octets = note(3, "stapsdt", "abc") + note(1, "GNU", "");
    const auto notes = notes_in(octets);
    ASSERT_EQ(notes.size(), 2u);
    EXPECT_EQ(notes[0].owner, "stapsdt");
    EXPECT_EQ(notes[0].type, 3u);
    EXPECT_EQ(notes[0].content, "abc");
    EXPECT_EQ(notes[1].owner, "GNU");
    EXPECT_EQ(notes_in(octets, 1).size(), 1u);
    for (std::size_t size = 0; size < octets.size(); ++size) EXPECT_LE(notes_in(octets.substr(0, size)).size(), 1u);
}

TEST(ElfParts, TheBuildIdIsTheFirstOfGnu) {
    EXPECT_EQ(build_id_of(notes_in(note(NT_GNU_BUILD_ID, "Go", "x") + note(NT_GNU_ABI_TAG, "GNU", "y") +
                                   note(NT_GNU_BUILD_ID, "GNU", "\x01\xab") + note(NT_GNU_BUILD_ID, "GNU", "z"))),
              "01ab");
    EXPECT_EQ(build_id_of({}), "");
    EXPECT_EQ(build_id_of(notes_in(note(NT_GNU_BUILD_ID, "GNU", std::string(65, 'x')))), "");
}

}  // namespace
}  // namespace base::elf
