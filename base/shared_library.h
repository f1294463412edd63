#pragma once
#include <string>

#include "base/error.h"

namespace base {

/// A library that few commands need. It is loaded when it is first needed, so no other command spends time on it, and
/// stays loaded until the program ends. Each thread may load it.
class SharedLibrary {
public:
    struct Origin {
        std::string file;        ///< "libcurl.so.4", found where the program's other libraries are found
        std::string package;     ///< of Debian, for the error's text; cmake/packaging.cmake names it as well
        std::string needed_for;  ///< "requests to ClickHouse", for the same
    };
    /// Loads the library. The error says what is absent and which package has it.
    static Result<SharedLibrary> load(Origin origin);

    /// Looks a function up. If the library lacks it, whole() fails.
    template <class Function>
    void find(Function*& function, const char* name) {
        function = reinterpret_cast<Function*>(address_of(name));
    }
    /// Whether the library had all functions that were looked up.
    Result<void> whole() const;

private:
    SharedLibrary(Origin origin, void* handle) : origin_(std::move(origin)), handle_(handle) {}
    void* address_of(const char* name);

    Origin origin_;
    void* handle_;
    std::string lacking_ = {};  ///< the first function that is not there
};

}  // namespace base
