// One test for each requirement, in node:test, vitest or whatever else has a function test(name, body) whose body gets
// a context with skip(why).
//
//   import { test } from "node:test"; // or "vitest"
//   import { conformance } from "mcpcheck/test";
//
//   await conformance(test, ["--", "node", "dist/index.js"]);

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// conformance runs mcpcheck run with these arguments, and makes a test of each requirement in its report.
export async function conformance(test, args) {
  reportTests(test, await judge(args));
}

// judge runs mcpcheck run with these arguments, and returns its JSON report.
export async function judge(args) {
  if (!Array.isArray(args)) throw new TypeError('mcpcheck: give the arguments of mcpcheck run, such as ["--", "node", "dist/index.js"]');
  const dir = await mkdtemp(join(tmpdir(), "mcpcheck-"));
  try {
    const file = join(dir, "report.json");
    const said = await run(["run", "-q", "--annotations", "off", "--json", file, ...args]);
    const text = await readFile(file, "utf8").catch(() => {
      throw new Error(said.trim() || "mcpcheck: it wrote no report");
    });
    return JSON.parse(text);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

// run runs mcpcheck, and returns what it said on stderr.
function run(args) {
  const launcher = fileURLToPath(new URL("mcpcheck.cjs", import.meta.url));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [launcher, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (said = (said + text).slice(-8192)));
    child.on("error", reject);
    child.on("close", () => resolve(said));
  });
}

// reportTests makes a test of each requirement in a JSON report: what counts fails, what does not apply, could not be
// tried or does not count is a skip that says so. Advice is left out where the report does not show it.
export function reportTests(test, report) {
  if (typeof test !== "function") throw new TypeError("mcpcheck: give the function test of node:test or vitest");
  if (!Array.isArray(report?.results)) throw new TypeError("mcpcheck: this is not a JSON report of mcpcheck run");
  if (report.problem || report.exitCode > 2) {
    test("mcpcheck", () => fail(report.problem || `exit code ${report.exitCode}`));
  }
  for (const { entry, line, why } of report.baseline?.stale ?? []) {
    test(`baseline: ${entry} (line ${line})`, () => fail(`${why}; take the entry out of ${report.baseline.file}, or correct it`));
  }
  const several = report.revisions.length > 1;
  for (const result of report.results) {
    if (result.level === "ADVICE" && !result.gates && !report.options?.advice) continue;
    test(several ? `${result.id} (${result.revision})` : result.id, (context) => tell(result, context));
  }
}

// tell is a result as that of a test.
function tell(result, context) {
  if (result.gates || result.verdict === "error") {
    fail(said(result));
  } else if (result.verdict === "fail") {
    const why = result.known ? `a known failure: ${result.known.reason}` : "fails, and does not count by the profile";
    context.skip(`${why}: ${line(result.message)}`);
  } else if (result.verdict !== "pass") {
    context.skip(`${line(result.message)} (${result.reasonCode})`);
  }
}

// fail fails a test with what there is to say: where this file throws tells nobody anything.
function fail(message) {
  const error = new Error(message);
  error.stack = `Error: ${message}`;
  throw error;
}

// said is all that an author wants to know of a failure. The report has more.
function said(result) {
  const most = 12;
  const wire = result.wire ?? [];
  const shown = wire.slice(-most).map(({ dir, http, text }) => `  ${dir} ${short(line([http, text].filter(Boolean).join(" ")))}`);
  if (wire.length > most) shown.unshift(`  … ${wire.length - most} lines before`);
  return [
    `${result.level} ${result.id}: ${result.requirement ?? result.title}`, ...(result.message ?? "").split("\n").map((text) => `  ${text}`), ...shown,
    result.spec && `  spec: ${result.spec}`, result.fix && `  fix: ${line(result.fix)}`,
  ].filter(Boolean).join("\n");
}

const line = (text) => (text ?? "").split(/\s+/).join(" ").trim();
const short = (text) => (text.length > 400 ? `${text.slice(0, 200)}…${text.slice(-200)}` : text);
