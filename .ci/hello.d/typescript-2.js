import { serve } from "@hono/node-server";
import {
  createMcpHandler,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { mistake } from "./mistake.js";

function hello() {
  const server = new McpServer({ name: "hello", version: "1.0.0" });
  server.registerTool(
    mistake("name", "say hello", "hello"),
    { description: "Greets a person", inputSchema: z.object({ name: z.string() }), annotations: { readOnlyHint: true } },
    async ({ name }) => {
      if (mistake("print")) console.log("hello was called");
      return { content: [{ type: "text", text: `Hello, ${name}!` }] };
    },
  );
  server.registerTool(
    "add",
    {
      description: "Adds two numbers",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }),
  );
  return server;
}

if (process.env.PORT) {
  const handler = createMcpHandler(hello);
  const refused = (request) => originValidationResponse(request, localhostAllowedOrigins());
  const fetch = (request) => (mistake("origin") ? undefined : refused(request)) ?? handler.fetch(request);
  serve({ fetch, port: Number(process.env.PORT), hostname: "127.0.0.1" });
} else {
  serveStdio(hello);
}
