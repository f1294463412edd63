#include "doctor/binary/loaded.h"

#include <algorithm>

#include "doctor/strings.h"

namespace doctor::inline binary {

namespace {

void replace_all(std::string& text, std::string_view what, std::string_view by) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

}  // namespace

base::Result<std::unique_ptr<base::ElfImage>> Loaded::open(const std::string& path) const {
    const auto failure = [](std::string message) { return base::Failure{base::Error{std::move(message)}}; };
    Content content = root_.read(path, longest_object);
    switch (content.sight) {
        case Sight::absent: return failure("there is no such file");
        case Sight::denied: return failure("it may not be read by this user");
        case Sight::unusable: return failure("it is not a readable file");
        case Sight::seen: break;
    }
    if (content.cut) return failure("it is longer than 256 MiB");
    auto file = std::make_unique<base::ElfImage>(std::move(content.octets));
    if (!file->error().empty()) return failure(file->error());
    return file;
}

base::Result<void> Loaded::load(const std::string& path) {
    std::string real = root_.resolve(path);
    auto file = open(real);
    if (!file) return base::Failure{file.error()};
    add_object(path, {std::move(real), std::move(file).value()}, nullptr);
    add_needed(0);
    return {};
}

const Loaded::Object* Loaded::add(const std::string& name) {
    if (const Object* known = find(name)) return known;
    auto located = locate(name, *objects_.front());
    if (!located) return nullptr;
    const std::size_t from = objects_.size();
    const Object* object = add_object(name, std::move(*located), objects_.front().get());
    add_needed(from);
    return object;
}

const Loaded::Object* Loaded::add_object(std::string name, Located located, const Object* loader) {
    std::unique_ptr<base::ElfImage>& file = located.file;
    octets_ += file->octets().size();
    const bool versioned = !file->version_definitions().empty();
    for (const base::DynamicSymbol& symbol : file->symbols())
        if (symbol.defined) symbols_.emplace(symbol.name, Definition{symbol.version, versioned});
    objects_.push_back(
        std::make_unique<Object>(Object{std::move(name), std::move(located.path), std::move(file), loader}));
    return objects_.back().get();
}

/// Breadth first, as the loader goes.
void Loaded::add_needed(std::size_t from) {
    for (std::size_t i = from; i < objects_.size(); ++i) {
        for (const std::string_view name : objects_[i]->file->needed()) {
            if (find(name) != nullptr || objects_.size() >= most_objects || octets_ >= most_octets) continue;
            auto located = locate(name, *objects_[i]);
            if (!located)
                objects_[i]->missing.emplace_back(name);
            else
                add_object(std::string(name), std::move(*located), objects_[i].get());
        }
    }
}

/// ld.so(8), "Dynamic string tokens".
std::vector<std::string> Loaded::folders(const Object& object, std::string_view list) const {
#if defined(__aarch64__)
    constexpr std::string_view library = "lib/aarch64-linux-gnu", platform = "aarch64";
#else
    constexpr std::string_view library = "lib/x86_64-linux-gnu", platform = "x86_64";
#endif
    const std::string origin = object.path.substr(0, object.path.rfind('/'));
    std::vector<std::string> found;
    constexpr std::size_t most = 64;
    for (const std::string_view part : split(list, ':')) {
        std::string folder(part);
        if (folder.size() > 4096) continue;
        for (const char* token : {"$ORIGIN", "${ORIGIN}"}) replace_all(folder, token, origin);
        for (const char* token : {"$LIB", "${LIB}"}) replace_all(folder, token, library);
        for (const char* token : {"$PLATFORM", "${PLATFORM}"}) replace_all(folder, token, platform);
        if (folder.starts_with('/') && found.size() < most) found.push_back(std::move(folder));
    }
    return found;
}

std::optional<Loaded::Located> Loaded::locate(std::string_view name, const Object& asker) const {
    const auto try_path = [&](const std::string& path) -> std::optional<Located> {
        if (!root_.has(path)) return std::nullopt;
        auto file = open(path);
        // The loader passes over libraries of other machines.
        if (!file || (*file)->machine() != objects_.front()->file->machine()) return std::nullopt;
        return Located{root_.resolve(path), std::move(file).value()};
    };
    if (name.find('/') != std::string_view::npos) return try_path(std::string(name));
    std::vector<std::string> places;
    const auto append = [&places](const std::vector<std::string>& more) {
        places.insert(places.end(), more.begin(), more.end());
    };
    // RPATH counts where there is no RUNPATH, and is inherited; RUNPATH is not, and comes after LD_LIBRARY_PATH.
    if (asker.file->runpath().empty())
        for (const Object* object = &asker; object != nullptr; object = object->loader)
            if (object->file->runpath().empty()) append(folders(*object, object->file->rpath()));
    append(path_.environment());
    append(folders(asker, asker.file->runpath()));
    for (const std::string& folder : places)
        if (auto located = try_path(folder / name)) return located;
    const std::string usual = path_.find(root_, name);
    if (!usual.empty()) return try_path(usual);
    return std::nullopt;
}

const Loaded::Object* Loaded::find(std::string_view name) const {
    const auto at = std::find_if(objects_.begin(), objects_.end(), [name](const auto& object) {
        return object->name == name || object->file->soname() == name;
    });
    return at == objects_.end() ? nullptr : at->get();
}

bool Loaded::is_missing(std::string_view name) const {
    return std::any_of(objects_.begin(), objects_.end(), [name](const auto& object) {
        return std::find(object->missing.begin(), object->missing.end(), name) != object->missing.end();
    });
}

bool Loaded::has_symbol(std::string_view name, std::string_view version) const {
    const auto [first, last] = symbols_.equal_range(name);
    return std::any_of(first, last, [version](const auto& entry) {
        return version.empty() || !entry.second.versioned || entry.second.version == version;
    });
}

}  // namespace doctor::binary
