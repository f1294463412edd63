#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/open_file.h"

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
    static base::Result<std::unique_ptr<SocketFile>> open(const std::string& path, const SocketOwner& owner);
    ~SocketFile() { static_cast<void>(remove()); }
    /// Removes the file, if it is still this one. Fails with why the file stays.
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
