// Writes the npm packages of a release: mcpcheck, which is a launcher, and one package
// for each platform with the binary for it. npm installs only the one that fits, since
// they are optional dependencies with os and cpu. No script runs at installation.
//
//   node .npm/build.mjs --version 1.2.3 --binaries dist --out npm
//
// The directory of binaries has a directory for each platform, linux_amd64 or, as
// goreleaser's dist has them, mcpcheck_linux_amd64_v1.

import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";

const { values: options } = parseArgs({
  options: { version: { type: "string" }, binaries: { type: "string" }, out: { type: "string" } },
});
for (const name of ["version", "binaries", "out"]) {
  if (!options[name]) die(`--${name} is missing`);
}
if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(options.version)) die(`${options.version} is no version; it is to be like 1.2.3`);

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "..");
const systems = { linux: "linux", darwin: "darwin", win32: "windows" }; // npm's names, and Go's
const machines = { x64: "amd64", arm64: "arm64" };

const common = {
  version: options.version,
  license: "MIT",
  homepage: "https://github.com/mcpcheck/mcpcheck#readme",
  repository: { type: "git", url: "git+https://github.com/mcpcheck/mcpcheck.git" }, // provenance is checked against it
};

const platforms = [];
for (const [os, goos] of Object.entries(systems)) {
  for (const [cpu, goarch] of Object.entries(machines)) {
    const exe = os === "win32" ? "mcpcheck.exe" : "mcpcheck";
    const binary = find(goos, goarch, exe);
    if (!binary) die(`${options.binaries} has no ${exe} for ${goos} on ${goarch}`);
    platforms.push({ name: `@mcpcheck/${os}-${cpu}`, os, cpu, exe, binary });
  }
}

rmSync(options.out, { recursive: true, force: true });
for (const { name, os, cpu, exe, binary } of platforms) {
  const dir = write({
    name,
    description: `The binary of mcpcheck for ${os} on ${cpu}`,
    ...common,
    os: [os],
    cpu: [cpu],
    files: [exe],
    preferUnplugged: true, // a binary cannot run out of Yarn's zip
    publishConfig: { access: "public" },
  });
  copyFileSync(binary, join(dir, exe));
  chmodSync(join(dir, exe), 0o755); // artifacts of workflows have lost it
  writeFileSync(join(dir, "README.md"), `The binary of [mcpcheck](https://github.com/mcpcheck/mcpcheck) for ${os} on ${cpu}. Install the package mcpcheck, not this.\n`);
}

const main = write({
  name: "mcpcheck",
  description: "Check that an MCP server conforms to the protocol",
  keywords: ["mcp", "model-context-protocol", "conformance", "test", "ci"],
  ...common,
  bin: { mcpcheck: "mcpcheck.cjs" },
  files: ["mcpcheck.cjs", "test.mjs", "test.d.mts"],
  exports: { "./test": { types: "./test.d.mts", default: "./test.mjs" }, "./package.json": "./package.json" },
  engines: { node: ">=18" },
  optionalDependencies: Object.fromEntries(platforms.map(({ name }) => [name, options.version])),
  publishConfig: { access: "public" },
});
for (const file of ["mcpcheck.cjs", "test.mjs", "test.d.mts"]) copyFileSync(join(here, file), join(main, file));
chmodSync(join(main, "mcpcheck.cjs"), 0o755);
copyFileSync(join(root, "README.md"), join(main, "README.md"));

// write makes the directory of a package, with its manifest and the licence.
function write(manifest) {
  const dir = join(options.out, manifest.name);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
  copyFileSync(join(root, "LICENSE"), join(dir, "LICENSE"));
  return dir;
}

// find is the path of the binary for a platform, or undefined.
function find(goos, goarch, exe) {
  const platform = new RegExp(`^(mcpcheck_)?${goos}_${goarch}(_v[0-9.]+)?$`);
  return readdirSync(options.binaries)
    .filter((dir) => platform.test(dir))
    .map((dir) => join(options.binaries, dir, exe))
    .find((path) => existsSync(path));
}

function die(problem) {
  console.error(`build.mjs: ${problem}`);
  process.exit(2);
}
