import { createTool } from "@mastra/core/tools";
import { MCPServer } from "@mastra/mcp";
import { z } from "zod";
import { mistake } from "./mistake.js";

const hello = createTool({
  id: "hello",
  description: "Greets a person",
  inputSchema: z.object({ name: z.string() }),
  mcp: { annotations: { readOnlyHint: true } },
  execute: async ({ name }) => {
    if (mistake("print")) console.log("hello was called");
    return `Hello, ${name}!`;
  },
});
const add = createTool({
  id: "add",
  description: "Adds two numbers",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  mcp: { annotations: { readOnlyHint: true } },
  execute: async ({ a, b }) => ({ sum: a + b }),
});
const tools = { [mistake("name", "say hello", "hello")]: hello, add };
await new MCPServer({ id: "hello", name: "hello", version: "1.0.0", tools }).startStdio();
