package kit

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Some servers refuse nothing: whatever is amiss with a request, they answer with the same result, or with silence.
// That is one fault, which jsonrpc/unknown-method-is-error reports, and not one in each check of what is to be refused.

// NoMethod is a method that no server has.
const NoMethod = "mcpcheck" + unknownName

const unknownName = "/no-such-method"

// NoMethodOf is a method of a feature, such as tools, that no server has.
func NoMethodOf(feature string) string { return feature + unknownName }

// IsNoMethod reports whether a method is one of those that no server has.
func IsNoMethod(method string) bool { return strings.HasSuffix(method, unknownName) }

// UnknownMethod is what comes of a method that no server has.
func UnknownMethod(t *T) Echoed {
	return Step(t, "unknown method", func(t *T) Echoed {
		s := t.Session()
		mark := s.Mark()
		return Await(s, mark, s.Request(NoMethod, nil), s.Patience())
	})
}

// ExchangeAmiss makes a request that may be refused, as s.Exchange does. It does not wait for long where the server is
// known to leave such requests unanswered.
func ExchangeAmiss(t *T, s *driver.Session, method string, params M) (r driver.Reply) {
	s.InTurn(func() (busy bool) {
		p := s.Request(method, params)
		r = AwaitAmiss(t, s, p, func() driver.Reply { return s.Await(p) })
		return r.Busy()
	})
	return r
}

// ReplyAmiss is the answer to a request that was made by hand and may be refused.
func ReplyAmiss(t *T, s *driver.Session, x *driver.Exchange) driver.Reply {
	return AwaitAmiss(t, s, x.Pending(), x.Reply)
}

// AwaitAmiss is wait, but where the server is known to leave unanswered what is to be refused: there not for long.
func AwaitAmiss(t *T, s *driver.Session, p driver.Pending, wait func() driver.Reply) driver.Reply {
	if r := s.AwaitFor(p, max(Shortly, 2*t.Server.Pace)); IsSilence(r) && RefusesNothing(t, r) {
		return r
	}
	return wait()
}

// TryAmiss is t.Try with a request that may be refused, as ExchangeAmiss makes it.
func TryAmiss(t *T, s *driver.Session, method string, params M) driver.Reply {
	return Accept(t, ExchangeAmiss(t, s, method, params))
}

// AskAmiss is t.Ask with a request that is to be refused. It ends the check when the server refuses nothing.
func AskAmiss(t *T, s *driver.Session, method string, params M) driver.Reply {
	if KnownUnanswered(t, method) != nil {
		return t.Ask(s, method, params) // which does not wait for it
	}
	r := TryAmiss(t, s, method, params)
	WantRefuser(t, r)
	if r.Err != nil {
		t.Again("%v", Explain(r.Err))
	}
	return r
}

// WantRefuser ends a check of something that may be refused, and was not, when the server refuses nothing.
func WantRefuser(t *T, r driver.Reply) {
	if RefusesNothing(t, r) {
		t.Yield("an unknown method brings the same, %s", Got(r))
	}
}

// WantServed ends a check whose request has no answer at all, when an ordinary one of the method has none either.
func WantServed(t *T, r driver.Reply, ordinary M) {
	if !IsSilence(r) && !IsLost(r) {
		return
	}
	RequireNotLate(t, r)
	other := Step(t, "ordinary "+r.Method, func(t *T) driver.Reply { return t.Try(t.Session(), r.Method, ordinary) })
	if IsSilence(other) || IsLost(other) {
		t.Yield("no request of %s has an answer", r.Method)
	}
}

// WantErrors ends a check of errors when the server leaves unanswered what is to be refused.
func WantErrors(t *T) {
	if r := UnknownMethod(t).Reply; !r.Answered() {
		WantRefuser(t, r)
	}
}

// RefusesNothing reports whether a reply is what comes of a method that no server has as well, though it is no refusal:
// the same result, or silence.
func RefusesNothing(t *T, r driver.Reply) bool {
	switch {
	case IsSilence(r):
		return IsSilence(UnknownMethod(Unconfirmed(t)).Reply)
	case r.Result() == nil || r.Refuses():
		return false
	}
	other := UnknownMethod(Unconfirmed(t)).Reply
	return other.Result() != nil && !other.Refuses() && bytes.Equal(content(r.Result()), content(other.Result()))
}

// IsSilence reports whether nothing came in place of an answer, in a session that goes on.
func IsSilence(r driver.Reply) bool {
	return errors.Is(r.Err, errIgnored) || errors.As(r.Err, new(*driver.Silence))
}

// LeavesErrors reports whether what is to be refused has no answer, as far as unknown methods tell. That the server
// knew the session no more, once the client had ended it, is none.
func LeavesErrors(all []*Dialogue) bool {
	return slices.ContainsFunc(all, func(d *Dialogue) bool {
		return slices.ContainsFunc(d.Of(NoMethod), func(x *Exchange) bool {
			return (x.Answer == nil || x.Answer.AfterEOF) && !x.Dead()
		})
	})
}

// Meaningless tells results that came of a method that no server has as well, which is no refusal.
func Meaningless(w Wire) func(result M) bool {
	known := map[string]bool{}
	for _, m := range w.ResultsOf(NoMethod).List {
		if result := ResultOf(m); result != nil && result["isError"] != true {
			known[string(content(result))] = true
		}
	}
	return func(result M) bool { return len(known) > 0 && result != nil && known[string(content(result))] }
}

// content is a result without what may be in any, whatever was asked for.
func content(result M) []byte {
	own := maps.Clone(result)
	for _, member := range []string{"_meta", "resultType", "ttlMs", "cacheScope"} {
		delete(own, member)
	}
	return Compact(own)
}
