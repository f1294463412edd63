#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/descriptor.h"
#include "wire/result.h"

namespace service {

/// The listening socket and its file. The file has its group and its mode (0660) before anybody can connect; while it
/// is being made, the directory is locked, so that of two daemons that begin at once only one wins.
class SocketFile {
public:
    static wire::Result<std::unique_ptr<SocketFile>, std::string> open(const std::string& path,
                                                                       const std::string& group);
    /// Removes the file, if it is still this one.
    ~SocketFile();
    SocketFile(const SocketFile&) = delete;
    SocketFile& operator=(const SocketFile&) = delete;

    int descriptor() const { return listening_.get(); }

private:
    SocketFile(Descriptor listening, std::string path) : listening_(std::move(listening)), path_(std::move(path)) {}
    std::string prepare(const std::string& group);

    Descriptor listening_;
    std::string path_;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
};

}  // namespace service
