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

// Fill puts the session's harmless request into a line that is written by hand: $method stands for its method,
// $harmless for method and params, members of the request.
func Fill(s *driver.Session, line string) string {
	method, params := s.Harmless()
	message := s.Message(0, method, params)
	delete(message, "jsonrpc")
	delete(message, "id")
	members := strings.Trim(string(Compact(message)), "{}")
	return strings.NewReplacer("$method", string(Compact(method)), "$harmless", members).Replace(line)
}
