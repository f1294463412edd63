#pragma once
#include <string>
#include <string_view>

/// Parts of SQL statements. Every value that comes from outside goes through text(), every name through is_name():
/// no other code puts quotes into a statement.
namespace fleet::schema {

/// A literal of any bytes: 'it\'s'.
std::string text(std::string_view value);
/// Letters, digits and _, not a digit first, at most 64: the names of databases and clusters.
bool is_name(std::string_view name);

}  // namespace fleet::schema
