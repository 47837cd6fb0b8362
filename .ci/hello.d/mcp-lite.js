import { serve } from "@hono/node-server";
import { McpServer, StreamableHttpTransport } from "mcp-lite";
import { z } from "zod";
import { mistake } from "./mistake.js";

const port = Number(process.env.PORT);
const server = new McpServer({ name: "hello", version: "1.0.0", schemaAdapter: (schema) => z.toJSONSchema(schema) });
server.tool(mistake("name", "say hello", "hello"), {
  description: "Greets a person",
  inputSchema: z.object({ name: z.string() }),
  annotations: { readOnlyHint: true },
  handler: ({ name }) => ({ content: [{ type: mistake("content", "txt", "text"), text: `Hello, ${name}!` }] }),
});
server.tool("add", {
  description: "Adds two numbers",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  annotations: { readOnlyHint: true },
  handler: ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }),
});
const transport = new StreamableHttpTransport({ allowedOrigins: [`http://127.0.0.1:${port}`] });
serve({ fetch: transport.bind(server), port, hostname: "127.0.0.1" });
