// Makes the types of TypeScript from the schema of the document: node types.mjs SCHEMA OUT
import { readFileSync, writeFileSync } from "node:fs";

/** "time_line" -> "TimeLine" */
const typeName = (name) => name.split(/[_-]/).map((word) => word[0].toUpperCase() + word.slice(1)).join("");

function typeOf(schema) {
  if (schema.$ref) return typeName(schema.$ref.split("/").pop());
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(" | ");
  switch (schema.type) {
    case "integer": case "number": return "number";
    case "string": return "string";
    case "boolean": return "boolean";
    case "null": return "null";
    case "array": return `Array<${schema.items ? typeOf(schema.items) : "unknown"}>`;
    case "object": return schema.properties ? objectOf(schema) : `Record<string, ${schema.additionalProperties ? typeOf(schema.additionalProperties) : "unknown"}>`;
    default: return "unknown";
  }
}

function objectOf(schema) {
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties).map(([name, member]) =>
    `${member.description ? `  /** ${member.description} */\n` : ""}  ${JSON.stringify(name)}${required.has(name) ? "" : "?"}: ${typeOf(member)};`);
  return `{\n${members.join("\n")}\n}`;
}

export function typesOf(schema) {
  const parts = Object.entries(schema.$defs).map(([name, definition]) =>
    `export type ${typeName(name)} = ${typeOf(definition)};\n`);
  return `// Made from report.schema.json.\n${parts.join("\n")}\nexport type ReportDocument = ${typeOf(schema)};\n`;
}

if (process.argv[1].endsWith("types.mjs")) {
  const [schema, out] = process.argv.slice(2);
  writeFileSync(out, typesOf(JSON.parse(readFileSync(schema, "utf8"))));
}
