import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { StdioTransport } from "@tmcp/transport-stdio";
import { McpServer } from "tmcp";
import { z } from "zod";
import { mistake } from "./mistake.js";

const server = new McpServer(
  { name: "hello", version: "1.0.0" },
  { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } },
);
server.tool(
  {
    name: mistake("name", "say hello", "hello"),
    description: "Greets a person",
    schema: z.object({ name: z.string() }),
    annotations: { readOnlyHint: true },
  },
  async ({ name }) => {
    if (mistake("print")) console.log("hello was called");
    return { content: [{ type: "text", text: `Hello, ${name}!` }] };
  },
);
server.tool(
  {
    name: "add",
    description: "Adds two numbers",
    schema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    annotations: { readOnlyHint: true },
  },
  async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }),
);
new StdioTransport(server).listen();
