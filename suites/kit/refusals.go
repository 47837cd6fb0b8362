package kit

import (
	"bytes"
	"errors"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// NoMethod is a method that no server has.
const NoMethod = "mcpcheck/no-such-method"

// UnknownMethod is what comes of a method that no server has.
func UnknownMethod(t *T) Echoed {
	return Shared(t, "unknown method", func(t *T) Echoed {
		s := t.Session()
		mark := s.Mark()
		return Await(s, mark, s.Request(NoMethod, nil), s.Patience())
	})
}

// WantRefuser ends a check of something that may be refused, and was not, when the server refuses nothing.
func WantRefuser(t *T, r driver.Reply) {
	if RefusesNothing(t, r) {
		t.Because(OtherCheck).Skip("an unknown method brings the same, %s: jsonrpc/unknown-method-is-error", Got(r))
	}
}

// RefusesNothing reports whether a reply is what comes of a method that no server has as well, though it is no refusal:
// the same result, or silence.
func RefusesNothing(t *T, r driver.Reply) bool {
	silent := func(r driver.Reply) bool {
		return errors.Is(r.Err, errIgnored) || errors.As(r.Err, new(*driver.Silence))
	}
	served := func(r driver.Reply) bool { return r.Result() != nil && !r.Refuses() }
	switch {
	case silent(r):
		return silent(UnknownMethod(t).Reply)
	case served(r):
		other := UnknownMethod(t).Reply
		return served(other) && bytes.Equal(Compact(r.Result()), Compact(other.Result()))
	}
	return false
}
