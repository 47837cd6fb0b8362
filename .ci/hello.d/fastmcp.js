import { Console } from "node:console";
import { FastMCP } from "fastmcp";
import { z } from "zod";
import { mistake } from "./mistake.js";

// Its own logger writes to stdout, which over stdio belongs to the protocol.
const server = new FastMCP({ name: "hello", version: "1.0.0", logger: new Console(process.stderr) });
server.addTool({
  name: mistake("name", "say hello", "hello"),
  description: "Greets a person",
  parameters: z.object({ name: z.string() }),
  annotations: { readOnlyHint: true },
  execute: async ({ name }) => {
    if (mistake("print")) console.log("hello was called");
    return `Hello, ${name}!`;
  },
});
server.addTool({
  name: "add",
  description: "Adds two numbers",
  parameters: z.object({ a: z.number(), b: z.number() }),
  annotations: { readOnlyHint: true },
  execute: async ({ a, b }) => String(a + b),
});
await server.start({ transportType: "stdio" });
