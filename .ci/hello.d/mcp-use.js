import { MCPServer } from "mcp-use";
import { z } from "zod";
import { mistake } from "./mistake.js";

const origins = mistake("origin") ? {} : { allowedOrigins: ["hello.example"] };
const server = new MCPServer({ name: "hello", version: "1.0.0", ...origins });
server.tool(
  {
    name: mistake("name", "say hello", "hello"),
    description: "Greets a person",
    inputSchema: z.object({ name: z.string() }),
    annotations: { readOnlyHint: true },
  },
  async ({ name }) => ({ content: [{ type: "text", text: `Hello, ${name}!` }] }),
);
server.tool(
  {
    name: "add",
    description: "Adds two numbers",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    annotations: { readOnlyHint: true },
  },
  async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }),
);
await server.listen(Number(process.env.PORT));
