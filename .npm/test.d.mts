/** The function test of node:test or vitest. */
export type Test = (name: string, body: (context: any) => void) => unknown;

/** A JSON report of mcpcheck run, as far as tests are made of it; schemas/report.schema.json has all of it. */
export interface Report {
  exitCode: number;
  problem?: string;
  results: { id: string; revision: string; level: string; verdict: string; gates: boolean; message?: string }[];
  [member: string]: unknown;
}

/** Runs mcpcheck run with these arguments, and makes a test of each requirement in its report. */
export function conformance(test: Test, args: string[]): Promise<void>;

/** Runs mcpcheck run with these arguments, and returns its JSON report. */
export function judge(args: string[]): Promise<Report>;

/** Makes a test of each requirement in a JSON report. */
export function reportTests(test: Test, report: Report): void;
