#include "base/shared_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

namespace base {
namespace {

/// The loader's reason. It often begins with the file, and the error's path is the file.
std::string reason_without(const std::string& file) {
    const char* const reason = dlerror();
    std::string text = reason == nullptr ? "cannot be loaded" : reason;
    if (const std::string beginning = file + ": "; text.starts_with(beginning)) text.erase(0, beginning.size());
    return text;
}

}  // namespace

Result<SharedLibrary> SharedLibrary::load(Origin origin) {
    // All its symbols are resolved now: a library that does not fit fails here, and not in the middle of the work.
    void* const handle = dlopen(origin.file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        return failure(fmt::format("{}; {} need this library: install the package {}", reason_without(origin.file),
                                   origin.needed_for, origin.package),
                       origin.file);
    return SharedLibrary(std::move(origin), handle);
}

void* SharedLibrary::address_of(const char* name) {
    void* const address = dlsym(handle_, name);
    if (address == nullptr && lacking_.empty()) lacking_ = name;
    return address;
}

Result<void> SharedLibrary::whole() const {
    if (lacking_.empty()) return {};
    return failure(fmt::format("this library lacks {}(), which {} need: install the package {}", lacking_,
                               origin_.needed_for, origin_.package),
                   origin_.file);
}

}  // namespace base
