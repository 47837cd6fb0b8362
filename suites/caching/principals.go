package caching

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// checkPublicScope compares the results for two users where cacheScope is public.
func checkPublicScope(t *check.T) {
	mine, other := t.Credentials.Bearer, t.Credentials.SecondPrincipal
	if mine == "" || other == "" {
		t.Skip(check.NotGiven, "it takes the tokens of two users (--bearer-env, --token-env second=VARIABLE)")
	}
	check.Each(t, cacheableRequests(t), cacheableRequest.subject, func(t *check.T, o cacheableRequest) {
		first, second := o.resultFor(t, mine), o.resultFor(t, other)
		public := first["cacheScope"] == "public" || second["cacheScope"] == "public"
		if !public || o.comparableText(first) == o.comparableText(second) {
			return
		}
		if o.comparableText(o.resultFor(t, mine)) != o.comparableText(first) {
			t.Skip(check.NotObserved, "it is another result each time, whoever asks")
		}
		t.Fail("cacheScope private, or the same result for both users", "%s and %s", check.Show(first),
			check.Show(second))
	})
}

// cacheableRequest is a request whose result clients may cache. The field member names the part of the result that is
// compared.
type cacheableRequest struct {
	method, member string
	params         check.M
}

// cacheableRequests returns the requests for the first page of each list, and for the first resources.
func cacheableRequests(t *check.T) (all []cacheableRequest) {
	for _, l := range lists(t.Server) {
		if len(l.items) > 0 {
			all = append(all, cacheableRequest{method: l.method, member: l.member})
		}
	}
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), maxReads)] {
		all = append(all, cacheableRequest{"resources/read", "contents", check.M{"uri": resource["uri"]}})
	}
	return all
}

func (o cacheableRequest) subject() check.Subject {
	if uri, is := o.params["uri"].(string); is {
		return check.NamedSubject(o.method + " " + uri)
	}
	return check.NamedSubject(o.method)
}

// resultFor returns the result for the user of a token.
func (o cacheableRequest) resultFor(t *check.T, token string) check.M {
	request := roundtrip.ManualRequest{Method: o.method, Params: o.params, Header: roundtrip.BearerHeader(token)}
	x := roundtrip.PostRequest(t.Session(), request)
	roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(x))
	r := x.AwaitReply()
	if r.Result() == nil && o.params != nil {
		t.Skip(check.NotApplicable, "one of the users may not read it, or there is no such resource")
	}
	if r.Result() == nil {
		t.NoVerdict(check.NotGiven, "%s was answered with %s to one of the users", o.method, check.Got(r))
	}
	return r.Result()
}

// comparableText returns the compared part of a result in a canonical order.
func (o cacheableRequest) comparableText(result check.M) string {
	var items []string
	for _, item := range protocol.ObjectsIn(result[o.member]) {
		item = maps.Clone(item)
		delete(item, "_meta")
		items = append(items, string(text.CompactJSON(item)))
	}
	slices.Sort(items)
	return string(text.CompactJSON(items))
}
