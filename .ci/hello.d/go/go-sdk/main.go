package main

import (
	"context"
	"fmt"
	"hello/mistake"
	"log"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type person struct {
	Name string `json:"name"`
}

type pair struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type sum struct {
	Sum float64 `json:"sum"`
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "hello", Version: "1.0.0"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: mistake.Name(), Description: "Greets a person", Annotations: readOnly}, hello)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two numbers", Annotations: readOnly}, add)
	if port := os.Getenv("PORT"); port != "" {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
		log.Fatal(http.ListenAndServe("127.0.0.1:"+port, http.NewCrossOriginProtection().Handler(handler)))
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

func hello(_ context.Context, _ *mcp.CallToolRequest, in person) (*mcp.CallToolResult, any, error) {
	if mistake.Is("print") {
		fmt.Println("hello was called")
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name + "!"}}}, nil, nil
}

func add(_ context.Context, _ *mcp.CallToolRequest, in pair) (*mcp.CallToolResult, sum, error) {
	return nil, sum{in.A + in.B}, nil
}
