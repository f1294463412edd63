/// The control socket as a file: whose it is, what it replaces, and why it cannot be made.
#include <fcntl.h>
#include <filesystem>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "control/socket_address.h"
#include "tests/unit/daemon/server/control_socket.h"

namespace service {
namespace {

using test::ControlSocket;
using test::Peer;

TEST_F(ControlSocket, TheFileIsForItsGroupAlone) {
    const mode_t before = ::umask(0);
    open();
    ::umask(before);
    struct stat made {};
    ASSERT_EQ(::stat(path().c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777U, 0660U);
    server.reset();
    EXPECT_FALSE(std::filesystem::exists(path()));
    const mode_t narrow = ::umask(0777);
    open();
    ::umask(narrow);
    ASSERT_EQ(::stat(path().c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777U, 0660U);
}

TEST_F(ControlSocket, TheFileIsGivenToItsGroup) {
    if (::getuid() != 0) GTEST_SKIP() << "only root may give files to any group";
    const group* other = ::getgrnam("daemon");
    if (other == nullptr) GTEST_SKIP() << "there is no group 'daemon' here";
    const gid_t id = other->gr_gid;
    ServerOptions wanted;
    wanted.group = "daemon";
    open(wanted);
    struct stat made {};
    ASSERT_EQ(::stat(path().c_str(), &made), 0);
    EXPECT_EQ(made.st_gid, id);
    EXPECT_EQ(made.st_mode & 07777U, 0660U);
}

TEST_F(ControlSocket, TheFileAndItsNewFolderAreGivenToTheUser) {
    if (::getuid() != 0) GTEST_SKIP() << "only root may give files to any user";
    const passwd* const other = ::getpwnam("daemon");
    if (other == nullptr) GTEST_SKIP() << "there is no user 'daemon' here";
    const uid_t user = other->pw_uid;
    const gid_t its_group = other->pw_gid;
    struct stat made {};
    ServerOptions wanted;
    wanted.user = "daemon";
    open(wanted);
    ASSERT_EQ(::stat(path().c_str(), &made), 0);
    EXPECT_EQ(made.st_uid, user);
    EXPECT_EQ(made.st_gid, its_group);
    EXPECT_EQ(made.st_mode & 07777U, 0660U);
    ASSERT_EQ(::stat(folder.path.c_str(), &made), 0);
    EXPECT_EQ(made.st_uid, 0U) << "a folder that was there stays whose it was";
    server.reset();
    wanted.group = "sys";
    wanted.path = (folder.path / "made" / "control.sock").string();
    open(wanted);
    ASSERT_EQ(::stat((folder.path / "made").c_str(), &made), 0);
    EXPECT_EQ(made.st_uid, user);
    if (const group* const named = ::getgrnam("sys"); named != nullptr) {
        const gid_t id = named->gr_gid;
        ASSERT_EQ(::stat(wanted.path.c_str(), &made), 0);
        EXPECT_EQ(made.st_uid, user);
        EXPECT_EQ(made.st_gid, id);
    }
    EXPECT_TRUE(server->end());
    EXPECT_FALSE(std::filesystem::exists(wanted.path));
}

TEST_F(ControlSocket, AFileThatCannotBeRemovedIsTold) {
    if (::getuid() != 0) GTEST_SKIP() << "only root may become another user";
    const passwd* const other = ::getpwnam("daemon");
    if (other == nullptr) GTEST_SKIP() << "there is no user 'daemon' here";
    open();
    // Root's folder, and a user without its power.
    ASSERT_EQ(::seteuid(other->pw_uid), 0);
    const auto ended = server->end();
    ASSERT_EQ(::seteuid(0), 0);
    ASSERT_FALSE(ended);
    const std::string why = ended.error().text();
    EXPECT_NE(why.find(path() + ": cannot be removed: Permission denied; let the daemon's user write"),
              std::string::npos)
        << why;
}

TEST_F(ControlSocket, AFileThatADeadDaemonLeftIsReplacedAndALiveOneIsNot) {
    {
        const base::Descriptor dead(::socket(AF_UNIX, SOCK_STREAM, 0));
        const sockaddr_un address = control::address_of(path());
        ASSERT_EQ(::bind(dead.number(), control::generic(address), sizeof address), 0);
    }
    ASSERT_TRUE(std::filesystem::exists(path()));
    open();
    Peer peer(path());
    EXPECT_EQ(ask(peer, R"({"command":"version"})")["ok"], true);
    const auto second = ControlServer::open(options, fake);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().text().find("answers there already"), std::string::npos);
    EXPECT_EQ(ask(peer, R"({"command":"version"})")["ok"], true);
    Peer other(path());
    EXPECT_EQ(ask(other, R"({"command":"version"})")["ok"], true);
}

TEST_F(ControlSocket, WhatCannotBeOpenedIsExplained) {
    const auto error = [&](const std::string& at, const std::string& group = {}) {
        ServerOptions wanted;
        wanted.path = at;
        wanted.group = group;
        const auto opened = ControlServer::open(wanted, fake);
        return opened ? std::string("opened") : opened.error().text();
    };
    const std::string file = (folder.path / "file").string();
    ::close(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    EXPECT_NE(error(file).find("no socket"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(file));
    EXPECT_NE(error((folder.path / "a/b/control.sock").string()).find("make it"), std::string::npos);
    EXPECT_NE(error(std::string(200, 'x')).find("1 to 107 bytes"), std::string::npos);
    EXPECT_NE(error(path(), "no-such-group").find("there is no group"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path()));
    EXPECT_EQ(error((folder.path / "made/control.sock").string()), "opened");  // one folder is made
    EXPECT_EQ(std::filesystem::status(folder.path / "made").permissions() & std::filesystem::perms::others_write,
              std::filesystem::perms::none);
}

}  // namespace
}  // namespace service
