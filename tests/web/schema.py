"""Compares a document with a schema: the part of JSON Schema that web/schema uses."""


def faults(value, schema, root, path="$"):
    """Where the value differs from the schema, as text; empty if nowhere."""
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, path)
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{path}: {value!r} is none of {schema['enum']}"]
    kinds = {"integer": int, "number": (int, float), "string": str, "boolean": bool, "array": list, "object": dict,
             "null": type(None)}
    allowed = schema.get("type", [])
    allowed = [allowed] if isinstance(allowed, str) else allowed
    if allowed and not any(isinstance(value, kinds[kind]) and (kind == "boolean" or not isinstance(value, bool))
                           for kind in allowed):
        return [f"{path}: {type(value).__name__} {str(value)[:40]!r} is not {' or '.join(allowed)}"]
    found = []
    if isinstance(value, list) and "items" in schema:
        for i, each in enumerate(value):
            found += faults(each, schema["items"], root, f"{path}[{i}]")
    if isinstance(value, dict):
        members = schema.get("properties", {})
        found += [f"{path}: {name} is missing" for name in schema.get("required", []) if name not in value]
        other = schema.get("additionalProperties", True)
        for name, each in value.items():
            if name in members:
                found += faults(each, members[name], root, f"{path}.{name}")
            elif other is False:
                found.append(f"{path}: {name} is not in the schema")
            elif isinstance(other, dict):
                found += faults(each, other, root, f"{path}.{name}")
    return found[:20]
