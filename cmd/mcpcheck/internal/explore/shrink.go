package explore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// These are how often a script is tried at most to shrink it, for what violates a MUST and for anything else.
const (
	maxPlaysMust  = 150
	maxPlaysOther = 40
)

// shrinker makes a script shorter that fails a requirement.
type shrinker struct {
	x  *explorer
	id string
	// steps is the shortest script so far, with its result and its messages.
	steps  []Step
	result report.Result
	wire   []string
	// left is how many plays are left.
	left  int
	tried map[string]bool
	// end is when no more are tried.
	end time.Time
}

// maxShrinkTime is how long a script is tried to shrink it.
const maxShrinkTime = 20 * time.Second

// shrink returns the shortest and plainest script found that fails the same requirement, its result and its messages.
func (x *explorer) shrink(ctx context.Context, id string, steps []Step, first report.Result) (
	[]Step, report.Result, []string,
) {
	s := &shrinker{
		x: x, id: id, steps: steps, result: first, left: maxPlaysOther, tried: map[string]bool{},
		end: time.Now().Add(maxShrinkTime),
	}
	if first.EntryLevel == catalogue.Must {
		s.left = maxPlaysMust
	}
	s.try(ctx, nil)
	s.try(ctx, []Step{{Number: 1, Action: Connect}})
	for _, step := range decidingSteps(steps, first) {
		s.try(ctx, withSources(steps, step))
	}
	for before := -1; before != len(s.steps) && s.left > 0; {
		before = len(s.steps)
		s.removeSteps(ctx)
	}
	s.simplify(ctx)
	if s.wire == nil {
		s.try(ctx, slices.Clone(s.steps))
	}
	return s.steps, s.result, s.wire
}

// try takes a script if it fails the requirement. It returns whether it does.
func (s *shrinker) try(ctx context.Context, steps []Step) bool {
	if s.left <= 0 || s.tried[key(steps)] || ctx.Err() != nil || time.Now().After(s.end) {
		return false
	}
	s.tried[key(steps)] = true
	s.left--
	p := s.x.play(ctx, replay(steps))
	r, failed := s.x.judge(ctx, p)[s.id]
	if failed {
		s.steps, s.result, s.wire = p.steps, r, wireOf(p)
		s.result.Evidence = evidenceOf(p, r.Evidence)
	}
	return failed
}

// maxDeciding is how many steps are tried alone.
const maxDeciding = 6

// decidingSteps returns the last step and those whose requests are part of the evidence of a failure: one of them may
// show the failure alone.
func decidingSteps(steps []Step, r report.Result) (deciding []Step) {
	for _, step := range slices.Backward(steps) {
		name, _ := step.Params["name"].(string)
		shows := func(l report.Line) bool {
			return l.Decisive && strings.Contains(l.Text, `"`+step.Method+`"`) && strings.Contains(l.Text, name)
		}
		if step.Method == "" || len(deciding) == maxDeciding {
			continue
		}
		if step.Number == steps[len(steps)-1].Number || slices.ContainsFunc(r.Evidence, shows) {
			deciding = append(deciding, step)
		}
	}
	return deciding
}

// withSources returns a step and those whose replies it needs.
func withSources(steps []Step, step Step) (needed []Step) {
	numbers := map[int]bool{step.Number: true}
	for _, s := range slices.Backward(steps) {
		if numbers[s.Number] {
			needed = append(needed, s)
			numbers[s.Of] = true
			addSources(numbers, s.Params)
		}
	}
	slices.Reverse(needed)
	return needed
}

// addSources adds the numbers of the steps whose results a value has parts of.
func addSources(numbers map[int]bool, value any) {
	switch v := value.(type) {
	case check.M:
		if step, is := v["$reply"]; is {
			numbers[asInt(step)] = true
		}
		for _, member := range v {
			addSources(numbers, member)
		}
	case []any:
		for _, item := range v {
			addSources(numbers, item)
		}
	}
}

// removeSteps leaves out as many steps as possible: first the end, then half of them, down to each alone.
func (s *shrinker) removeSteps(ctx context.Context) {
	for size := max(1, len(s.steps)/2); ; size /= 2 {
		for from := len(s.steps) - size; from >= 0; from -= size {
			from = min(from, len(s.steps)-size)
			if from < 0 {
				break
			}
			s.try(ctx, slices.Delete(slices.Clone(s.steps), from, from+size))
		}
		if size == 1 {
			return
		}
	}
}

// simplifications make one step plainer.
var simplifications = []func(*Step){
	func(s *Step) {
		*s = Step{Number: s.Number, Session: s.Session, Action: s.Action, Method: s.Method, Params: withoutMeta(s)}
	},
	func(s *Step) { s.ID = nil },
	func(s *Step) { s.Order = 0 },
	func(s *Step) { s.Handshake = Handshake{} },
	func(s *Step) { s.Handshake.Revision = "" },
	func(s *Step) { s.Handshake.Ping = false },
	func(s *Step) { s.Handshake.Meta = nil },
	func(s *Step) { s.Params = withoutMeta(s) },
	func(s *Step) { s.EmptyParams = false },
	func(s *Step) {
		if s.Action == Send {
			s.Action = Request
		}
	},
	func(s *Step) { s.Session = 0 },
}

// withoutMeta returns the params of a step without _meta.
func withoutMeta(s *Step) map[string]any {
	params := maps.Clone(s.Params)
	if delete(params, "_meta"); len(params) == 0 {
		return nil
	}
	return params
}

// simplify makes each step as plain as possible.
func (s *shrinker) simplify(ctx context.Context) {
	for i := range s.steps {
		for _, plainer := range simplifications {
			if i >= len(s.steps) {
				return
			}
			steps := slices.Clone(s.steps)
			if plainer(&steps[i]); steps[i].Of == s.steps[i].Of {
				s.try(ctx, steps)
			}
		}
	}
}

// directions are those of messages, by the side that has sent them.
var directions = map[driver.Side]report.Direction{
	driver.FromClient: report.Sent, driver.FromServer: report.Received,
}

// messagesOf returns the messages of the steps of a play, with what the server sent by itself, by session; where there
// are no steps, all messages.
func messagesOf(p *play) (all [][]*driver.Frame) {
	for _, session := range p.pool.Sessions() {
		all = append(all, slices.DeleteFunc(session.FramesSince(0), func(f *driver.Frame) bool {
			return directions[f.Side] == "" || len(p.steps) > 0 && !p.isOfStep(session, f)
		}))
	}
	return all
}

// wireOf returns the messages of a play for readers.
func wireOf(p *play) (lines []string) {
	sessions := p.pool.Sessions()
	for i, messages := range messagesOf(p) {
		if len(sessions) > 1 {
			lines = append(lines, sessions[i].Name()+":")
		}
		for _, f := range messages {
			lines = append(lines, report.NewLine(directions[f.Side], nil).Arrow+" "+f.Raw.String())
		}
	}
	return lines
}

// evidenceOf returns the messages of a play as evidence, with what decided the failure: of that, messages are marked,
// and what is not a message of the script is added.
func evidenceOf(p *play, decided []report.Line) (lines []report.Line) {
	sessions := messagesOf(p)
	for i, messages := range sessions {
		for _, f := range messages {
			line := report.NewLine(directions[f.Side], f.Raw.Bytes())
			if line.Seconds = report.RoundMillis(f.At.Seconds()); len(sessions) > 1 {
				line.Session = strconv.Itoa(i + 1)
			}
			lines = append(lines, line)
		}
	}
	for _, d := range decided {
		if !d.Decisive {
			continue
		}
		isSame := func(l report.Line) bool { return l.Direction == d.Direction && l.Text == d.Text }
		if i := slices.IndexFunc(lines, isSame); i >= 0 {
			lines[i].Decisive = true
		} else {
			lines = append(lines, d)
		}
	}
	return report.CapLines(lines)
}

// isOfStep reports whether a message belongs to a step, or to what the server sends by itself.
func (p *play) isOfStep(session *driver.Session, f *driver.Frame) bool {
	if p.unusual[session] {
		return true
	}
	isServers := f.IsRequest() == (f.Side == driver.FromServer)
	if !f.IsRequest() && !f.IsResponse() || isServers && (f.IsRequest() || f.Side == driver.FromClient) {
		return f.Method != "notifications/initialized"
	}
	for _, q := range p.sent {
		if q.session == session && driver.SameID(q.pending.ID, f.RequestID()) {
			return true
		}
	}
	return false
}
