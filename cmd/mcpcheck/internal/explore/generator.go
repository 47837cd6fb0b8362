package explore

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// generator draws the steps of a sequence.
type generator struct {
	x *explorer
	*rand.Rand
	// left is how many steps are still drawn.
	left int
	// last is the number of the last step.
	last int
	// quiet draws nothing that changes what the server serves, so that what is refused was served before.
	quiet bool
	// session is the number of the session that is used now.
	session int
}

// move draws a step of one kind. ok is false if there is none now.
type move struct {
	weight int
	draw   func(g *generator, p *play) (s Step, ok bool)
}

// next draws the next step of a play.
func (g *generator) next(p *play) (Step, bool) {
	if g.left == 0 || g.x.isOver() {
		return Step{}, false
	}
	g.left--
	g.last++
	if len(p.steps) == 0 && g.IntN(2) == 0 {
		s := g.connect()
		s.Number = g.last
		return s, true
	}
	for range 20 {
		s, ok := g.pick(g.x.moves).draw(g, p)
		if !ok {
			continue
		}
		s.Number, s.Session = g.last, g.session
		if s.Action == Request && s.Method != "" {
			g.vary(p, &s)
		}
		return s, true
	}
	return Step{Number: g.last, Session: g.session, Action: Connect}, true
}

// pick draws one of several moves by their weights.
func (g *generator) pick(moves []move) move {
	all := 0
	for _, m := range moves {
		all += m.weight
	}
	n := g.IntN(all)
	for _, m := range moves {
		if n -= m.weight; n < 0 {
			return m
		}
	}
	return moves[0]
}

// oneOf draws an item of a list that is not empty.
func oneOf[V any](g *generator, list []V) V { return list[g.IntN(len(list))] }

// vary draws the form of a request: its id, its params and the order of its members, and whether its response is waited
// for before the next step.
func (g *generator) vary(p *play, s *Step) {
	if g.IntN(3) == 0 {
		s.ID = json.RawMessage(oneOf(g, ids))
		for _, q := range p.sent {
			if string(q.step.ID) == string(s.ID) && q.step.Session == s.Session {
				s.ID = json.RawMessage(fmt.Sprintf(`"%d-%d"`, g.last, s.Session))
			}
		}
	}
	if g.IntN(3) == 0 {
		s.Order = g.Uint64()>>11 + 1
	}
	meta := check.M{}
	if g.IntN(4) == 0 {
		maps.Copy(meta, oneOf(g, metas))
	}
	if g.x.isModern() && g.x.server.Declares("logging") && g.IntN(6) == 0 {
		meta[driver.MetaLogLevel] = oneOf(g, protocol.LogLevels)
	}
	if g.IntN(4) == 0 {
		meta["progressToken"] = oneOf(g, []any{g.last, fmt.Sprintf("token-%d", g.last)})
	}
	switch {
	case len(meta) > 0:
		params := check.M{}
		maps.Copy(params, s.Params)
		params["_meta"] = meta
		s.Params = params
	case s.Params == nil && g.IntN(3) == 0:
		s.EmptyParams = true
	}
	if g.IntN(5) == 0 {
		s.Action = Send
	}
}

// newMoves returns the moves that the server allows.
func (x *explorer) newMoves() (moves []move) {
	server := x.server
	add := func(weight int, draw func(*generator, *play) (Step, bool)) { moves = append(moves, move{weight, draw}) }
	plain := func(weight int, method string, params func(g *generator) check.M) {
		add(weight, func(g *generator, _ *play) (Step, bool) {
			s := Step{Action: Request, Method: method}
			if params != nil {
				s.Params = params(g)
			}
			return s, true
		})
	}
	if x.isModern() {
		plain(2, "server/discover", nil)
	} else {
		plain(2, "ping", nil)
	}
	for _, list := range []struct{ capability, method string }{
		{"tools", "tools/list"}, {"prompts", "prompts/list"}, {"resources", "resources/list"},
		{"resources", "resources/templates/list"},
	} {
		if server.Declares(list.capability) {
			plain(2, list.method, nil)
			add(2, func(g *generator, p *play) (Step, bool) { return g.nextPage(p, list.method) })
		}
	}
	if len(x.tools) > 0 {
		add(6, (*generator).call)
	}
	if uris := names(server.Resources, "uri"); len(uris) > 0 {
		plain(3, "resources/read", func(g *generator) check.M { return check.M{"uri": oneOf(g, uris)} })
		x.addSubscriptions(uris, plain)
	}
	if len(names(server.Prompts, "name")) > 0 {
		plain(3, "prompts/get", (*generator).promptParams)
	}
	if server.Declares("completions") && len(x.completions()) > 0 {
		plain(2, "completion/complete", func(g *generator) check.M { return oneOf(g, x.completions()) })
	}
	if server.Declares("logging") && !x.isModern() {
		plain(1, "logging/setLevel", func(g *generator) check.M {
			return check.M{"level": oneOf(g, protocol.LogLevels)}
		})
	}
	x.addUnknown(plain)
	if x.isModern() {
		add(10, (*generator).retry)
	} else if x.hasTasks() {
		add(10, (*generator).useTask)
		if tasks, _ := x.server.Capabilities["tasks"].(check.M); tasks["list"] != nil {
			plain(1, "tasks/list", nil)
		}
	}
	if x.isModern() && len(x.filter()) > 0 {
		add(1, (*generator).listen)
	} else if !x.isModern() {
		add(1, func(g *generator, p *play) (Step, bool) {
			return Step{Action: Notify, Method: rootsChanged}, p.hasRoots(g.session)
		})
	}
	add(2, (*generator).cancel)
	if !server.OneClient {
		add(x.sessionWeight(), (*generator).changeSession)
		add(x.sessionWeight(), func(g *generator, p *play) (Step, bool) {
			return Step{Action: Close}, p.open[g.session] != nil
		})
	}
	return moves
}

// sessionWeight is the weight of what begins a session. Over stdio that is a process, which takes long to start.
func (x *explorer) sessionWeight() int {
	if x.target.Site == nil {
		return 0
	}
	return 1
}

// addSubscriptions adds the moves that subscribe to resources.
func (x *explorer) addSubscriptions(uris []string, plain func(int, string, func(*generator) check.M)) {
	resources, _ := x.server.Capabilities["resources"].(check.M)
	if resources["subscribe"] != true || x.isModern() {
		return
	}
	uri := func(g *generator) check.M { return check.M{"uri": oneOf(g, uris)} }
	plain(2, "resources/subscribe", uri)
	plain(2, "resources/unsubscribe", uri)
}

// unknownName is a name that nothing has.
const unknownName = "mcpcheck-no-such-name"

// addUnknown adds the moves that name what the server does not have, as clients do whose lists are old.
func (x *explorer) addUnknown(plain func(int, string, func(*generator) check.M)) {
	name := func(*generator) check.M { return check.M{"name": unknownName} }
	if x.server.Declares("tools") && x.o.Calls != report.CallsNone {
		plain(1, "tools/call", name)
	}
	if x.server.Declares("prompts") {
		plain(1, "prompts/get", name)
	}
	if x.server.Declares("resources") {
		plain(1, "resources/read", func(*generator) check.M { return check.M{"uri": "file:///" + unknownName} })
	}
}

// names returns the strings that objects have in a member.
func names(objects []check.M, member string) (all []string) {
	for _, object := range objects {
		if name, isText := object[member].(string); isText {
			all = append(all, name)
		}
	}
	return all
}

// nextPage draws a request for the page after one that was received in the same session.
func (g *generator) nextPage(p *play, method string) (Step, bool) {
	for _, step := range slices.Backward(p.steps) {
		if step.Method != method || step.Session != g.session || g.IntN(2) == 0 {
			continue
		}
		if cursor, _ := p.result(step.Number)["nextCursor"].(string); cursor != "" {
			params := check.M{"cursor": reference(step.Number, []any{"nextCursor"})}
			return Step{Action: Request, Method: method, Params: params}, true
		}
	}
	return Step{}, false
}

// promptParams draws the params of a request for a prompt.
func (g *generator) promptParams() check.M {
	prompt := oneOf(g, g.x.server.Prompts)
	list, _ := prompt["arguments"].([]any)
	arguments := check.M{}
	for _, a := range check.Objects(list) {
		name, _ := a["name"].(string)
		if a["required"] == true || g.IntN(3) == 0 {
			arguments[name] = toolcall.Placeholder
		}
	}
	params := check.M{"name": prompt["name"]}
	if len(arguments) > 0 || g.IntN(2) == 0 {
		params["arguments"] = arguments
	}
	return params
}

// completions are the params of requests for completions of what the server lists.
func (x *explorer) completions() (all []check.M) {
	for _, argument := range toolcall.ListedArguments(x.server) {
		for _, value := range []string{"", "m"} {
			all = append(all, argument.Params(value))
		}
	}
	return all
}

// cancel draws the cancellation of a request that may have no response yet.
func (g *generator) cancel(p *play) (Step, bool) {
	for _, step := range slices.Backward(p.steps) {
		if g.quiet {
			break
		}
		pending := step.Action == Send && step.Params["task"] == nil || step.Action == Listen
		if pending && step.Session == g.session && !p.sent[step.Number].done {
			return Step{Action: Cancel, Of: step.Number}, true
		}
	}
	return Step{}, false
}

// filter returns the notifications that the server offers without a handshake.
func (x *explorer) filter() check.M {
	filter := check.M{}
	for _, list := range []string{"tools", "prompts", "resources"} {
		if declared, _ := x.server.Capabilities[list].(check.M); declared["listChanged"] == true {
			filter[list+"ListChanged"] = true
		}
	}
	resources, _ := x.server.Capabilities["resources"].(check.M)
	if uris := names(x.server.Resources, "uri"); resources["subscribe"] == true && len(uris) > 0 {
		filter["resourceSubscriptions"] = []any{uris[0]}
	}
	return filter
}

// maxListening is how many streams of subscriptions a sequence opens.
const maxListening = 3

// listen draws a stream of some of the notifications that the server offers.
func (g *generator) listen(p *play) (Step, bool) {
	filter, opened := g.x.filter(), 0
	for _, step := range p.steps {
		if step.Action == Listen {
			opened++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(filter)) {
		if len(filter) > 1 && g.IntN(2) == 0 {
			delete(filter, name)
		}
	}
	params := check.M{"notifications": filter}
	return Step{Action: Listen, Method: "subscriptions/listen", Params: params}, opened < maxListening
}

// maxSessions is how many sessions a sequence has at a time.
const maxSessions = 3

// changeSession draws a step in another session.
func (g *generator) changeSession(*play) (Step, bool) {
	g.session = g.IntN(maxSessions)
	if g.IntN(2) == 0 {
		return Step{Action: Connect}, true
	}
	return g.connect(), true
}
