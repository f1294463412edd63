#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/open_file.h"

namespace service::inline server {

/// The owner of the socket's file, by names; empty leaves it to the process.
struct SocketOwner {
    std::string user;   ///< the user that the process becomes; also owns a folder that is made for the socket
    std::string group;  ///< if empty, the user's own group
};

/// The listening socket and its file. The file has its owner and its mode (0660) before any client can connect. The
/// directory is locked while the file is made: of two daemons that begin at once only one succeeds.
class SocketFile {
public:
    static base::Result<std::unique_ptr<SocketFile>> open(const std::string& path, const SocketOwner& owner);
    ~SocketFile() { static_cast<void>(remove()); }
    /// Removes the file, if it is still this one. Fails with the reason if the file stays.
    base::Result<void> remove();
    SocketFile(const SocketFile&) = delete;
    SocketFile& operator=(const SocketFile&) = delete;

    int descriptor() const { return listening_.number(); }

private:
    SocketFile(base::Descriptor listening, base::Folder folder, std::string path)
        : listening_(std::move(listening)), folder_(std::move(folder)), path_(std::move(path)) {}
    base::Result<void> prepare(const SocketOwner& owner);
    base::Result<void> set_owner(const SocketOwner& owner) const;

    base::Descriptor listening_;
    base::Folder folder_;
    base::Descriptor made_ = base::Descriptor();  ///< the socket's file, by O_PATH
    std::string path_;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
};

}  // namespace service::server
