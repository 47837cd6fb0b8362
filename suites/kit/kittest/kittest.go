// Package kittest makes messages for the tests of kit: the frames of a transcript (Frames), and replies that no server
// sent (CallReply). It is imported by tests only, and has no behaviour that needs a session or a server.
package kittest

import (
	"encoding/json"
	"strconv"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Frames is a transcript that grows frame by frame. The zero value is empty.
type Frames []*driver.Frame

// AddRequest adds an initialize request of the client with this id.
func (d *Frames) AddRequest(id int) {
	*d = append(*d, &driver.Frame{
		Side: driver.FromClient, Raw: driver.Text("{}"), Kind: driver.Object,
		HasMethod: true, Method: "initialize",
		ID: json.RawMessage(strconv.Itoa(id)),
	})
}

// AddResponse adds an error response of the server; id is JSON.
func (d *Frames) AddResponse(id string) {
	*d = append(*d, &driver.Frame{
		Side: driver.FromServer, Kind: driver.Object, HasJSONRPC: true, HasError: true, ID: json.RawMessage(id),
	})
}

// CallReply is a reply to a call of the tool "add"; arguments and reply are JSON.
func CallReply(arguments, reply string) driver.Reply {
	request := []byte(`{"method":"tools/call","params":{"name":"add","arguments":` + arguments + `}}`)
	m, _ := driver.Decode([]byte(reply)).(driver.M)
	return driver.Reply{
		Request:   &driver.Frame{Raw: driver.Text(request), Kind: driver.Object},
		Frame:     &driver.Frame{Raw: driver.Text(reply), Kind: driver.Object},
		Synthetic: m,
	}
}

// ToolErrorJSON is a response in which a tool reports an error with this text.
func ToolErrorJSON(text string) string {
	return `{"result":{"isError":true,"content":[{"type":"text","text":"` + text + `"}]}}`
}
