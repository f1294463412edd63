#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace service::inline server {

/// Whose the socket's file is, by names; empty leaves it to the process.
struct SocketOwner {
    std::string user;   ///< whom the process becomes; also of a folder that is made for the socket
    std::string group;  ///< the user's own where empty
};

/// The listening socket and its file. The file has its owner and its mode (0660) before anybody can connect; while it
/// is being made, the directory is locked, so that of two daemons that begin at once only one wins.
class SocketFile {
public:
    static base::Result<std::unique_ptr<SocketFile>, std::string> open(const std::string& path,
                                                                       const SocketOwner& owner);
    ~SocketFile() { remove(); }
    /// Removes the file, if it is still this one. Returns why it stays; else empty.
    std::string remove();
    SocketFile(const SocketFile&) = delete;
    SocketFile& operator=(const SocketFile&) = delete;

    int descriptor() const { return listening_.number(); }

private:
    SocketFile(base::Descriptor listening, std::string path)
        : listening_(std::move(listening)), path_(std::move(path)) {}
    std::string prepare(const SocketOwner& owner);
    std::string give_away(const SocketOwner& owner) const;

    base::Descriptor listening_;
    std::string path_;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
};

}  // namespace service::server
