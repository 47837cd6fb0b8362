import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";
import { mistake } from "./mistake.js";

const server = new McpServer({ name: "hello", version: "1.0.0" });
server.registerTool(
  mistake("name", "say hello", "hello"),
  { description: "Greets a person", inputSchema: { name: z.string() }, annotations: { readOnlyHint: true } },
  async ({ name }) => {
    if (mistake("print")) console.log("hello was called");
    return { content: [{ type: "text", text: `Hello, ${name}!` }] };
  },
);
server.registerTool(
  "add",
  {
    description: "Adds two numbers",
    inputSchema: { a: z.number(), b: z.number() },
    outputSchema: { sum: z.number() },
    annotations: { readOnlyHint: true },
  },
  async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }),
);
await server.connect(new StdioServerTransport());
