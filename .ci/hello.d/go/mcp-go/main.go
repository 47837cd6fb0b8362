package main

import (
	"context"
	"fmt"
	"hello/mistake"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type pair struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type sum struct {
	Sum float64 `json:"sum"`
}

func main() {
	s := server.NewMCPServer("hello", "1.0.0", server.WithInputSchemaValidation())
	s.AddTool(mcp.NewTool(mistake.Name(), mcp.WithDescription("Greets a person"), mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithString("name", mcp.Required())), hello)
	s.AddTool(mcp.NewTool("add", mcp.WithDescription("Adds two numbers"), mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithInputSchema[pair](), mcp.WithOutputSchema[sum]()), mcp.NewStructuredToolHandler(add))
	if port := os.Getenv("PORT"); port != "" {
		log.Fatal(server.NewStreamableHTTPServer(s).Start("127.0.0.1:" + port))
	}
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}

func hello(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if mistake.Is("print") {
		fmt.Println("hello was called")
	}
	return mcp.NewToolResultText("Hello, " + request.GetString("name", "") + "!"), nil
}

func add(_ context.Context, _ mcp.CallToolRequest, in pair) (sum, error) {
	return sum{in.A + in.B}, nil
}
