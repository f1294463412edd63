#include "base/open_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"

namespace base {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// A folder with a secret file next to it, which no test may change.
class OpenFile : public ::testing::Test {
protected:
    OpenFile() {
        std::string pattern = (fs::temp_directory_path() / "rdmascope-open.XXXXXX").string();
        root_ = ::mkdtemp(pattern.data());
        fs::create_directory(root_ / "folder");
        write(root_ / "secret", "secret");
        write(root_ / "folder/plain", "plain");
    }
    ~OpenFile() override {
        EXPECT_EQ(read_file((root_ / "secret").string()), "secret");
        fs::remove_all(root_);
    }
    static void write(const fs::path& path, const std::string& octets) { std::ofstream(path) << octets; }
    Folder folder() const {
        auto opened = Folder::open((root_ / "folder").string());
        EXPECT_TRUE(opened);
        return std::move(opened).value();
    }
    /// What stands in the folder under the name `odd`, and a word of the reason.
    struct Odd {
        std::function<void(const fs::path&)> make;
        const char* reason;
    };
    std::vector<Odd> odd_things() const {
        const fs::path secret = root_ / "secret";
        return {{[secret](const fs::path& at) { fs::create_symlink(secret, at); }, "a symbolic link"},
                {[](const fs::path& at) { fs::create_symlink("plain", at); }, "a symbolic link"},
                {[](const fs::path& at) { ::mkfifo(at.c_str(), 0666); }, "a FIFO"},
                {[](const fs::path& at) { fs::create_directory(at); }, "a directory"},
                {[](const fs::path& at) { make_socket(at); }, "a socket"}};
    }
    static void make_socket(const fs::path& at) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        at.string().copy(address.sun_path, sizeof address.sun_path - 1);
        const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }

    fs::path root_;
};

TEST_F(OpenFile, AFileInAFolderIsReadAndMade) {
    const Folder in = folder();
    auto plain = in.open_file("plain");
    ASSERT_TRUE(plain);
    EXPECT_EQ(read_file(plain->number()), "plain");
    EXPECT_NE(::fcntl(plain->number(), F_GETFD) & FD_CLOEXEC, 0);
    auto made = in.open_file("new", O_WRONLY | O_CREAT | O_EXCL, 0640);
    ASSERT_TRUE(made);
    EXPECT_TRUE(in.has("new"));
    EXPECT_TRUE(in.rename("new", "newer"));
    EXPECT_TRUE(in.remove("newer"));
    EXPECT_FALSE(in.has("newer"));
}

TEST_F(OpenFile, WhatIsNoRegularFileIsRefusedAtOnceForEveryUse) {
    const Folder in = folder();
    for (const Odd& odd : odd_things()) {
        odd.make(root_ / "folder/odd");
        for (const int flags : {O_RDONLY, O_WRONLY | O_TRUNC, O_RDWR | O_CREAT, O_WRONLY | O_APPEND}) {
            const auto opened = in.open_file("odd", flags, 0640);
            ASSERT_FALSE(opened) << odd.reason << ", flags " << flags;
            EXPECT_THAT(opened.error().reason, HasSubstr(odd.reason)) << "flags " << flags;
            EXPECT_NE(opened.error().code, 0);
        }
        fs::remove_all(root_ / "folder/odd");
    }
}

TEST_F(OpenFile, ANameIsNoPath) {
    const Folder in = folder();
    EXPECT_FALSE(in.open_file("../secret"));
    EXPECT_FALSE(in.open_file(""));
    EXPECT_FALSE(in.open_file(".."));
}

TEST_F(OpenFile, AHardLinkIsReadButNotWritten) {
    fs::create_hard_link(root_ / "secret", root_ / "folder/other");
    const Folder in = folder();
    EXPECT_TRUE(in.open_file("other"));
    const auto written = in.open_file("other", O_WRONLY | O_TRUNC);
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().reason, HasSubstr("hard link"));
}

TEST_F(OpenFile, TruncatesWhatIsChecked) {
    auto opened = folder().open_file("plain", O_WRONLY | O_TRUNC);
    ASSERT_TRUE(opened);
    EXPECT_EQ(read_file((root_ / "folder/plain").string()), "");
}

TEST_F(OpenFile, APathThatIsNamedMayBeALinkButNoFifo) {
    fs::create_symlink("plain", root_ / "folder/link");
    const auto opened = open_regular_file((root_ / "folder/link").string());
    ASSERT_TRUE(opened);
    EXPECT_EQ(read_file(opened->number()), "plain");
    ::mkfifo((root_ / "folder/fifo").c_str(), 0666);
    const auto fifo = open_regular_file((root_ / "folder/fifo").string());
    ASSERT_FALSE(fifo);
    EXPECT_THAT(fifo.error().reason, HasSubstr("a FIFO"));
    EXPECT_FALSE(read_file((root_ / "folder/fifo").string()));
    EXPECT_EQ(open_regular_file("/dev/null").error().code, EINVAL);
    EXPECT_EQ(open_regular_file((root_ / "absent").string()).error().code, ENOENT);
}

TEST_F(OpenFile, AFolderIsWhereItWasWhenItWasOpened) {
    const Folder in = folder();
    fs::rename(root_ / "folder", root_ / "moved");
    fs::create_directory_symlink("/", root_ / "folder");
    EXPECT_TRUE(in.has("plain"));
    EXPECT_TRUE(in.open_file("made", O_WRONLY | O_CREAT, 0640));
    EXPECT_TRUE(fs::exists(root_ / "moved/made"));
    fs::remove(root_ / "folder");
}

TEST_F(OpenFile, LinksOfAdministratorsAreFollowed) {
    fs::create_directory_symlink("folder", root_ / "link");
    fs::create_directory_symlink(root_ / "link", root_ / "absolute");
    for (const char* const path : {"link", "absolute", "link/../absolute/", "./folder"}) {
        const auto opened = Folder::open((root_ / path).string());
        ASSERT_TRUE(opened) << path << ": " << opened.error().reason;
        EXPECT_TRUE(opened->has("plain")) << path;
    }
    fs::create_symlink("circle", root_ / "circle");
    EXPECT_EQ(Folder::open((root_ / "circle").string()).error().code, ELOOP);
    EXPECT_EQ(Folder::open((root_ / "folder/plain").string()).error().code, ENOTDIR);
}

TEST_F(OpenFile, LinksThatOthersCanChangeAreNot) {
    // Whoever may write in a folder can put another link into the place of this one.
    fs::create_directory(root_ / "shared");
    fs::permissions(root_ / "shared", fs::perms::all);
    fs::create_directory_symlink(root_ / "folder", root_ / "shared/link");
    const auto opened = Folder::open((root_ / "shared/link").string());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ELOOP);
    EXPECT_THAT(opened.error().reason, HasSubstr("`link`"));
    EXPECT_FALSE(Folder::make((root_ / "shared/link/sub").string(), 0750));
    EXPECT_FALSE(fs::exists(root_ / "folder/sub"));
    // As in /tmp: nobody else can remove a link of this user.
    fs::permissions(root_ / "shared", fs::perms::all | fs::perms::sticky_bit);
    EXPECT_TRUE(Folder::open((root_ / "shared/link").string()));
    if (::getuid() != 0) return;
    ASSERT_EQ(::lchown((root_ / "shared/link").c_str(), 65534, 65534), 0);
    EXPECT_FALSE(Folder::open((root_ / "shared/link").string()));
}

TEST_F(OpenFile, FoldersAreMadeWhereTheyAreMissing) {
    const mode_t mask = ::umask(022);
    const auto made = Folder::make((root_ / "a/b/c/").string(), 0700);
    ::umask(mask);
    ASSERT_TRUE(made) << made.error().reason;
    struct stat found {};
    ASSERT_EQ(::stat((root_ / "a/b/c").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0700u);
    ASSERT_EQ(::stat((root_ / "a").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0755u);
    EXPECT_TRUE(Folder::make((root_ / "a/b/c").string(), 0700));
    EXPECT_EQ(Folder::make((root_ / "folder/plain/x").string(), 0700).error().code, ENOTDIR);
    EXPECT_FALSE(Folder::make("", 0700));
}

/// Of the file that the user of a command names for its output.
class OutputFile : public OpenFile {
protected:
    static constexpr uid_t stranger = 65534;
    static constexpr uid_t caller = 65533;
    static constexpr mode_t shared = 01777;

    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root makes files of other users";
        ::chmod(root_.c_str(), 0755);
        ::unsetenv("SUDO_UID");
    }
    void TearDown() override { ::unsetenv("SUDO_UID"); }

    fs::path in_folder(const char* name) const { return root_ / "folder" / name; }
    void share_folder() const { ASSERT_EQ(::chmod((root_ / "folder").c_str(), shared), 0); }
    static void give(const fs::path& path, uid_t owner) { ASSERT_EQ(::lchown(path.c_str(), owner, owner), 0); }
    static std::string refusal_of(const fs::path& path) {
        const auto opened = open_output_file(path.string());
        return opened ? "" : opened.error().reason;
    }
    static bool is_written(const fs::path& path) {
        auto opened = open_output_file(path.string());
        return opened && write_all(opened->number(), "new") && read_file(fs::canonical(path).string()) == "new";
    }
};

TEST_F(OutputFile, IsMadeOrWrittenFromTheBeginning) {
    EXPECT_TRUE(is_written(in_folder("made")));
    EXPECT_TRUE(is_written(in_folder("plain")));
    const auto opened = open_output_file(in_folder("plain").string());
    ASSERT_TRUE(opened);
    EXPECT_NE(::fcntl(opened->number(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(open_output_file(root_.string()).error().code, EISDIR);
    EXPECT_EQ(open_output_file(root_.string() + "/").error().code, EISDIR);
    EXPECT_EQ(open_output_file(in_folder("none/made").string()).error().code, ENOENT);
}

TEST_F(OutputFile, MayBeADeviceOrADescriptor) {
    EXPECT_TRUE(open_output_file("/dev/null"));
    auto plain = open_output_file(in_folder("plain").string());
    ASSERT_TRUE(plain);
    auto again = open_output_file("/dev/fd/" + std::to_string(plain->number()));
    ASSERT_TRUE(again);
    EXPECT_TRUE(write_all(again->number(), "through"));
    EXPECT_EQ(read_file(in_folder("plain").string()), "through");
}

TEST_F(OutputFile, IsReachedThroughTheUsersOwnLinks) {
    share_folder();
    fs::create_symlink("plain", in_folder("link"));
    fs::create_symlink(in_folder("later"), in_folder("dangling"));
    fs::create_directory_symlink(root_ / "folder", root_ / "way");
    EXPECT_TRUE(is_written(in_folder("link")));
    EXPECT_TRUE(is_written(in_folder("dangling")));
    EXPECT_TRUE(is_written(root_ / "way/link"));
}

TEST_F(OutputFile, IsNotReachedThroughALinkOfAnotherUserInASharedFolder) {
    share_folder();
    fs::create_symlink(root_ / "secret", in_folder("link"));
    fs::create_symlink(root_, in_folder("way"));
    give(in_folder("link"), stranger);
    give(in_folder("way"), stranger);
    EXPECT_THAT(refusal_of(in_folder("link")), HasSubstr("symbolic link `link`"));
    EXPECT_THAT(refusal_of(in_folder("way/secret")), HasSubstr("symbolic link `way`"));
    fs::create_symlink(in_folder("link"), root_ / "own");
    EXPECT_THAT(refusal_of(root_ / "own"), HasSubstr("symbolic link `link`")) << "a link of one's own that leads there";
}

TEST_F(OutputFile, IsNotWhatAnotherUserHasPutIntoASharedFolder) {
    share_folder();
    for (const Odd& odd : std::vector<Odd>{{[](const fs::path& at) { write(at, "theirs"); }, "belongs to another user"},
                                           {[](const fs::path& at) { ::mkfifo(at.c_str(), 0666); }, "another user"}}) {
        odd.make(in_folder("odd"));
        give(in_folder("odd"), stranger);
        EXPECT_THAT(refusal_of(in_folder("odd")), HasSubstr(odd.reason));
        fs::remove(in_folder("odd"));
    }
    fs::create_hard_link(root_ / "secret", in_folder("other"));
    EXPECT_THAT(refusal_of(in_folder("other")), HasSubstr("hard link"));
}

TEST_F(OutputFile, OfRootIsNotReachedThroughALinkInAnotherUsersFolder) {
    fs::create_symlink(root_ / "secret", in_folder("link"));
    give(in_folder("link"), stranger);
    give(in_folder("plain"), stranger);
    give(root_ / "folder", stranger);
    EXPECT_THAT(refusal_of(in_folder("link")), HasSubstr("symbolic link `link`"));
    EXPECT_TRUE(is_written(in_folder("plain"))) << "a file is what it is";
}

TEST_F(OutputFile, OfSudoIsReachedThroughLinksOfItsCaller) {
    fs::create_symlink("plain", in_folder("link"));
    give(in_folder("link"), caller);
    give(root_ / "folder", caller);
    EXPECT_NE(refusal_of(in_folder("link")), "");
    ::setenv("SUDO_UID", std::to_string(caller).c_str(), 1);
    EXPECT_TRUE(is_written(in_folder("link")));
}

TEST_F(OutputFile, OfOthersIsReachedThroughLinksUnlessTheFolderIsShared) {
    fs::create_symlink("plain", in_folder("link"));
    give(in_folder("link"), stranger);
    give(in_folder("plain"), caller);
    give(root_ / "folder", stranger);
    ASSERT_EQ(::seteuid(caller), 0);
    const std::string in_their_folder = refusal_of(in_folder("link"));
    ASSERT_EQ(::seteuid(0), 0);
    share_folder();
    ASSERT_EQ(::seteuid(caller), 0);
    const std::string in_shared_folder = refusal_of(in_folder("link"));
    ASSERT_EQ(::seteuid(0), 0);
    EXPECT_EQ(in_their_folder, "");
    EXPECT_THAT(in_shared_folder, HasSubstr("symbolic link `link`"));
}

}  // namespace
}  // namespace base
