#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "base/result.h"
#include "fabric/subnet.h"

namespace fabric {

/// Names for GUIDs from a file, one a line: `0x0002c90300a1b2c3 "spine 4"`. opensm and ibnetdiscover read the same
/// files (--node-name-map). Lines for LIDs are ours: `lid 4 "spine 4"`. What follows a `#` is ignored.
class NodeNames {
public:
    /// The errors name the lines.
    static base::Result<NodeNames, base::Errors> parse(std::string_view text, const std::string& path);

    /// Empty if the file does not name it.
    std::string_view find(Guid guid) const;
    std::string_view find_lid(Lid lid) const;
    std::size_t size() const { return names_.size() + lids_.size(); }

    void add(Guid guid, std::string name) { names_[guid] = std::move(name); }
    void add_lid(Lid lid, std::string name) { lids_[lid] = std::move(name); }

private:
    std::unordered_map<Guid, std::string> names_ = {};
    std::unordered_map<Lid, std::string> lids_ = {};
};

/// How nodes are called: by the file, by their own description, or by their GUID.
class NodeLabels {
public:
    enum class Form : std::uint8_t { names, numbers };
    explicit NodeLabels(NodeNames names = {}, Form form = Form::names) : names_(std::move(names)), form_(form) {}

    /// Printable.
    std::string of(const Node& node) const;
    /// "spine 4 port 17"; without the number of a switch's port 0.
    std::string of(const Node& node, std::uint8_t port) const;

private:
    NodeNames names_;
    Form form_;
};

/// "0x0002c90300a1b2c3".
std::string text_of(Guid guid);

}  // namespace fabric
