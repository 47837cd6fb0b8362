package kit

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// HarmlessAs sends the session's harmless request under an id.
func HarmlessAs(s *driver.Session, id any) driver.Pending {
	method, params := s.Harmless()
	return s.RequestID(id, method, params)
}

// Harmless is the session's harmless request as it is sent, for who sends it in another way: in a batch, in pieces.
func Harmless(s *driver.Session, id any) (driver.Pending, M) {
	method, params := s.Harmless()
	return s.Expecting(id, method), s.Message(id, method, params)
}

// Fill puts the session's harmless request into a line that is written by hand, as the era of the session has it:
// $method stands for its method, $harmless for method and params, members of the request. $meta stands for the members
// of _meta that requests of the session have, each with a comma after it.
func Fill(s *driver.Session, line string) string {
	method, params := s.Harmless()
	message := s.Message(0, method, params)
	delete(message, "jsonrpc")
	delete(message, "id")
	dressed, _ := message["params"].(M)
	meta, _ := dressed["_meta"].(M)
	common := membersOf(meta)
	if common != "" {
		common += ","
	}
	return strings.NewReplacer(
		"$method", string(Compact(method)), "$harmless", membersOf(message), "$meta", common,
	).Replace(line)
}

// membersOf is an object as text, without its braces.
func membersOf(object M) string {
	if len(object) == 0 {
		return ""
	}
	text := string(Compact(object))
	return text[1 : len(text)-1]
}
