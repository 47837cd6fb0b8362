package caching

import (
	"maps"
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// publicScopeHonest compares what two users get of what is said to be the same for all.
func publicScopeHonest(t *T) {
	mine, other := t.Credentials.Bearer, t.Credentials.Second
	if mine == "" || other == "" {
		t.Because(NotGiven).Skip("it takes the tokens of two users (--bearer-env, --token-env second=VARIABLE)")
	}
	Each(t, offers(t), offer.subject, func(t *T, o offer) {
		first, second := o.as(t, mine), o.as(t, other)
		public := first["cacheScope"] == "public" || second["cacheScope"] == "public"
		if !public || o.said(first) == o.said(second) {
			return
		}
		if o.said(o.as(t, mine)) != o.said(first) {
			t.Because(NotObserved).Skip("it is another result each time, whoever asks")
		}
		t.Fail("cacheScope private, or the same result for both users", "%s and %s", Show(first), Show(second))
	})
}

// offer is a request whose result clients may keep, and the member that holds what is of interest.
type offer struct {
	method, member string
	params         M
}

// offers are the first page of each list, and the first resource.
func offers(t *T) (all []offer) {
	for _, l := range lists(t.Server) {
		if len(l.items) > 0 {
			all = append(all, offer{method: l.method, member: l.member})
		}
	}
	if len(t.Server.Resources) > 0 {
		all = append(all, offer{"resources/read", "contents", M{"uri": t.Server.Resources[0]["uri"]}})
	}
	return all
}

func (o offer) subject() Subject { return Named(o.method) }

// as is the result that the user of a token gets.
func (o offer) as(t *T, token string) M {
	request := kit.Request{Method: o.method, Params: o.params, Header: kit.Bearing(token)}
	x := kit.ByHand(t.Session(), request)
	kit.Own(t, kit.CameOf(x))
	r := x.Reply()
	if r.Result() == nil {
		t.Because(NotGiven).Inconclusive("%s was answered with %s to one of the users", o.method, Got(r))
	}
	return r.Result()
}

// said is what a result holds, whatever its order.
func (o offer) said(result M) string {
	var items []string
	for _, item := range kit.ObjectsIn(result[o.member]) {
		item = maps.Clone(item)
		delete(item, "_meta")
		items = append(items, string(Compact(item)))
	}
	slices.Sort(items)
	return string(Compact(items))
}
