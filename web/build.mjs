// Bundles the page into one file: node build.mjs FOLDER writes FOLDER/page.html. The page permits its own script and
// style by their hashes, and nothing else.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync, existsSync, cpSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { typesOf } from "./types.mjs";

const web = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
const work = join(out, "work");
const modules = process.env.NODE_PATH ?? "/usr/share/nodejs";

// Debian's modules lie apart from the sources: TypeScript and esbuild look in node_modules above them.
mkdirSync(work, { recursive: true });
rmSync(join(work, "src"), { recursive: true, force: true });
cpSync(join(web, "src"), join(work, "src"), { recursive: true });
cpSync(join(web, "tsconfig.json"), join(work, "tsconfig.json"));
if (!existsSync(join(work, "node_modules"))) symlinkSync(modules, join(work, "node_modules"));
const schema = JSON.parse(readFileSync(join(web, "schema", "report.schema.json"), "utf8"));
writeFileSync(join(work, "src", "document.ts"), typesOf(schema));

const run = (program, ...words) => execFileSync(program, words, { cwd: work, stdio: ["ignore", "inherit", "inherit"] });
const esbuild = process.env.ESBUILD ?? "esbuild";
run(process.env.TSC ?? "tsc", "--project", "tsconfig.json");
const bundle = (entry, file, ...more) => run(esbuild, `src/${entry}`, "--bundle", "--charset=utf8", "--target=es2020",
  "--legal-comments=none", "--log-level=warning", `--outfile=${file}`, ...more);
bundle("main.ts", "page.js", "--minify", "--format=iife");
bundle("style.css", "page.css", "--minify");
// What the tests of node read.
bundle("model.ts", "model.mjs", "--format=esm");

const script = readFileSync(join(work, "page.js"), "utf8").trimEnd();
const style = readFileSync(join(work, "page.css"), "utf8").trimEnd();
if (script.includes("</script") || style.includes("</style")) throw new Error("the bundle ends its own element");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; connect-src @CONNECT@; base-uri 'none'; form-action 'none'`;
const page = readFileSync(join(work, "src", "page.html"), "utf8")
  .replace("@POLICY@", () => policy).replace("@STYLE@", () => style).replace("@SCRIPT@", () => script)
  .replace("@ASSET@", () => createHash("sha256").update(script + style).digest("hex"));
writeFileSync(join(out, "page.html"), page);
