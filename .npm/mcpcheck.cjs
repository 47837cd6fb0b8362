#!/usr/bin/env node
// Runs the mcpcheck of the package for this platform, as if it had been called itself:
// with the same arguments, terminal, signals and exit status.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `@mcpcheck/${process.platform}-${process.arch}`;
const exe = process.platform === "win32" ? "mcpcheck.exe" : "mcpcheck";

let binary;
try {
  binary = require.resolve(`${platform}/${exe}`);
} catch {
  const known = Object.keys(require("./package.json").optionalDependencies);
  fail(
    known.includes(platform)
      ? `the package ${platform} is not installed; install mcpcheck again, with optional dependencies (no --omit=optional) and on this platform`
      : `there is no mcpcheck for ${process.platform} on ${process.arch}; with Go: go install github.com/mcpcheck/mcpcheck/cmd/mcpcheck@latest`,
  );
}

// In a session of its own, mcpcheck gets a signal from here only, and once: Ctrl-C goes
// to all processes of the terminal, and npm passes it on as well, but mcpcheck takes a
// second one to mean that it is not to wait for its servers to end. On Windows there
// is nothing to pass on: the console tells every process itself.
const windows = process.platform === "win32";
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit", detached: !windows });
child.on("error", (error) => fail(`cannot run ${binary}: ${error.message}`));

let last = 0;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (!windows && Date.now() - last > 500) child.kill(signal);
    last = Date.now();
  });
}

child.on("exit", (status, signal) => {
  process.exitCode = signal ? 128 + constants.signals[signal] : status;
});

function fail(problem) {
  console.error(`mcpcheck: ${problem}`);
  process.exit(4); // mcpcheck failed
}
