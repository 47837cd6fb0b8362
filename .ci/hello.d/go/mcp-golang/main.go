package main

import (
	"errors"
	"fmt"
	"hello/mistake"
	"log"

	mcp "github.com/metoro-io/mcp-golang"
	"github.com/metoro-io/mcp-golang/transport/stdio"
)

// The arguments are pointers since the framework does not look for those that are missing.
type person struct {
	Name *string `json:"name" jsonschema:"required"`
}

type pair struct {
	A *float64 `json:"a" jsonschema:"required"`
	B *float64 `json:"b" jsonschema:"required"`
}

var errMissing = errors.New("a required argument is missing")

func main() {
	server := mcp.NewServer(stdio.NewStdioServerTransport(), mcp.WithName("hello"), mcp.WithVersion("1.0.0"))
	err := errors.Join(
		server.RegisterTool(mistake.Name(), "Greets a person", hello),
		server.RegisterTool("add", "Adds two numbers", add),
		server.Serve(),
	)
	if err != nil {
		log.Fatal(err)
	}
	select {} // Serve returns as soon as it listens
}

func hello(in person) (*mcp.ToolResponse, error) {
	if in.Name == nil {
		return nil, errMissing
	}
	if mistake.Is("print") {
		fmt.Println("hello was called")
	}
	return mcp.NewToolResponse(mcp.NewTextContent("Hello, " + *in.Name + "!")), nil
}

func add(in pair) (*mcp.ToolResponse, error) {
	if in.A == nil || in.B == nil {
		return nil, errMissing
	}
	return mcp.NewToolResponse(mcp.NewTextContent(fmt.Sprint(*in.A + *in.B))), nil
}
