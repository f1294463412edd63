#include "cli/run/executable.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <link.h>
#include <optional>
#include <string_view>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utility>

#include "base/descriptor.h"
#include "cli/console.h"

namespace cli::run {

namespace {

class File {
public:
    explicit File(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    explicit operator bool() const { return static_cast<bool>(descriptor_); }
    /// Up to `size` bytes; fewer at the end of the file.
    std::string read(std::uint64_t offset, std::size_t size) const {
        std::string octets(size, '\0');
        const ssize_t got = pread(descriptor_.number(), octets.data(), size, static_cast<off_t>(offset));
        octets.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return octets;
    }

private:
    base::Descriptor descriptor_;
};

template <class Structure>
std::optional<Structure> structure_at(const File& file, std::uint64_t offset) {
    const std::string octets = file.read(offset, sizeof(Structure));
    if (octets.size() < sizeof(Structure)) return {};
    Structure result;
    std::memcpy(&result, octets.data(), sizeof result);
    return result;
}

/// The dynamic linker that a program names; empty: it is static. Absent: the headers make no sense.
std::optional<std::string> interpreter_of(const File& file, const ElfW(Ehdr) & header) {
    constexpr unsigned most_headers = 512;
    constexpr std::size_t longest_path = 4096;
    if (header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum > most_headers) return {};
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        const auto part = structure_at<ElfW(Phdr)>(file, header.e_phoff + i * sizeof(ElfW(Phdr)));
        if (!part) return {};
        if (part->p_type != PT_INTERP) continue;
        const std::string path = file.read(part->p_offset, std::min<std::size_t>(part->p_filesz, longest_path));
        return path.substr(0, path.find('\0'));
    }
    return std::string{};
}

std::string our_interpreter() {
    const File self("/proc/self/exe");
    const auto header = structure_at<ElfW(Ehdr)>(self, 0);
    return header ? interpreter_of(self, *header).value_or("") : "";
}

/// Whether the kernel gives the program more rights than its caller has. The dynamic linker then ignores LD_PRELOAD.
std::string raised_rights(const std::string& path) {
    struct stat file {};
    struct statvfs system {};
    if (stat(path.c_str(), &file) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return {};
    if (statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0) return {};
    if ((file.st_mode & S_ISUID) != 0 && file.st_uid != getuid()) return "set-user-ID";
    const bool group = (file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    if (group && file.st_gid != getgid()) return "set-group-ID";
    if (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0)
        return "given file capabilities";
    return {};
}

std::string examine_elf(const File& file, const std::string& path) {
    const auto header = structure_at<ElfW(Ehdr)>(file, 0);
    if (!header || header->e_ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32))
        return fmt::format("{} is a {}-bit program; the library that it would need is for {} bits", path,
                           sizeof(void*) == 8 ? 32 : 64, sizeof(void*) * 8);
    const auto ours = structure_at<ElfW(Ehdr)>(File("/proc/self/exe"), 0);
    if (ours && header->e_machine != ours->e_machine) return path + " is for another kind of processor";
    const auto interpreter = interpreter_of(file, *header);
    if (!interpreter) return path + " is damaged: its program headers make no sense";
    if (interpreter->empty())
        return path + " is linked statically: no library can be put before its own libibverbs; link it dynamically";
    if (const std::string own = our_interpreter(); !own.empty() && *interpreter != own)
        return fmt::format("{} is for another C library ({}) than this rdmascope ({})", path, *interpreter, own);
    return {};
}

/// The interpreter of a script's first line.
std::string interpreter_of_script(std::string_view line) {
    line = line.substr(2, line.find('\n') - 2);
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    line.remove_prefix(begin);
    return std::string(line.substr(0, line.find_first_of(" \t\r")));
}

void examine(Program& program, const std::string& path, int depth) {
    constexpr int most_scripts = 4;  // the kernel's limit
    const File file(path);
    if (!file) {
        // The file is executable and not readable, so it cannot be examined, and it is accepted.
        const bool there = access(path.c_str(), X_OK) == 0;
        program.found = there ? Program::Found::yes : Program::Found::unusable;
        if (!there) program.reason = fmt::format("{}: {}", path, std::strerror(errno));
        return;
    }
    program.found = Program::Found::unusable;
    const std::string begin = file.read(0, 256);
    const std::string rights = raised_rights(path);
    if (begin.starts_with("#!") && depth < most_scripts) {
        const std::string interpreter = interpreter_of_script(begin);
        examine(program, interpreter, depth + 1);
        if (program.found == Program::Found::unusable)
            program.reason =
                fmt::format("{} is a script, and its interpreter cannot be used: {}", path, program.reason);
        else if (depth == 0)
            program.note = fmt::format("{} is a script: all that it starts is run so, too", path);
    } else if (!begin.starts_with(ELFMAG)) {
        program.reason = path + " is neither a program nor a script with #! in its first line";
    } else if (!rights.empty()) {
        program.reason = fmt::format(
            "{} is {}: no library can be put before its own; run it as its owner, or a copy without that mark", path,
            rights);
    } else {
        program.reason = examine_elf(file, path);
        if (program.reason.empty()) program.found = Program::Found::yes;
    }
}

bool is_file(const std::string& path) {
    struct stat file {};
    return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode);
}

/// The path that execvp would find.
Program look_for(const std::string& name) {
    Program program;
    if (name.empty()) return program;
    std::string_view places = name;
    const bool with_path = name.find('/') != std::string::npos;
    const char* const variable = std::getenv("PATH");
    if (!with_path) places = variable != nullptr ? variable : "/bin:/usr/bin";
    for (std::size_t begin = 0; begin <= places.size();) {
        const std::size_t end = with_path ? places.size() : std::min(places.find(':', begin), places.size());
        const std::string place(places.substr(begin, end - begin));
        begin = end + 1;
        const std::string path = with_path ? name : (place.empty() ? "." : place) + "/" + name;
        struct stat file {};
        if (stat(path.c_str(), &file) != 0) {
            if (with_path && errno != ENOENT) {
                program.found = Program::Found::unusable;
                program.reason = fmt::format("{}: {}", path, std::strerror(errno));
            }
            continue;
        }
        if (is_file(path) && access(path.c_str(), X_OK) == 0) {
            program.found = Program::Found::yes;
            program.path = path;
            return program;
        }
        if (!with_path && !is_file(path)) continue;
        program.found = Program::Found::unusable;
        program.reason = is_file(path) ? path + " may not be executed: Permission denied" : path + " is no program";
    }
    return program;
}

}  // namespace

Program find_program(const std::string& name) {
    Program program = look_for(name);
    if (program.found == Program::Found::yes) examine(program, program.path, 0);
    if (program.found == Program::Found::missing)
        program.reason = name.find('/') == std::string::npos
                             ? fmt::format("there is no program '{}' in the folders of PATH", name)
                             : fmt::format("there is no program {}", name);
    return program;
}

int become(const Program& program, const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execv(program.path.c_str(), arguments.data());
    print_message("rdmascope run: {} cannot be run: {}", program.path, std::strerror(errno));
    return exit_unusable;
}

}  // namespace cli::run
