package elicitation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// answers are the checks of what servers ask clients that do not have every mode, and of what they make of the answers.
var answers = Suite{
	"elicitation/mode-supported-by-client": WatchAfter(askInModes, func(t *T, w Wire) {
		tellLeft(t)
		all := kit.Questions(t, w, create)
		kit.JudgeQuestions(t, "question to the user was sent", all, func(t *T, q kit.Question) {
			if q.Client()["elicitation"] == nil {
				t.Yield("the client can be asked nothing")
			}
			mode := kit.ModeOf(q.Params)
			t.Expect(kit.HasMode(q.Client(), mode)).To(Hold("a mode of "+modesOf(q.Client()), "%s", modeOf(q)))
		})
	}),

	"elicitation/decline-handled": Probe(func(t *T) {
		eachTried(t, func(t *T, a asker) {
			for _, x := range a.unwilling {
				expectEnd(t, a, x)
				if code, _ := x.Reply.Code(); t.Modern() && code == internalError {
					t.Fail("an orderly answer", "%s when the client answers %s", x.Reply, x.answer)
				}
			}
		})
	}),

	"elicitation/error-reply-handled": Probe(func(t *T) {
		eachTried(t, func(t *T, a asker) {
			for _, x := range a.refused {
				expectEnd(t, a, x)
			}
		})
	}),

	"elicitation/content-validated": Probe(func(t *T) {
		var all []misfit
		open := "" // a tool whose calls do not come to an end
		for _, a := range inEveryWay(t) {
			if all = append(all, a.misfits...); a.isFilledIn() && !a.usual.Reply.Answered() {
				open = fmt.Sprintf("%s, when the user agrees: %v", a.usual.Tool.Name, Explain(a.usual.Reply.Err))
			}
		}
		switch {
		case len(all) > 0:
		case open != "":
			t.Because(NotObserved).Inconclusive("%s", open)
		default:
			t.Because(NotObserved).Skip("no form has a field that could be filled in wrongly, so that it shows")
		}
		Each(t, all, misfit.subject, expectNoticed)
	}),
}

const internalError = -32603

// eachTried tries a check on tools that ask, whose calls come to an end when the user agrees.
func eachTried(t *T, run func(*T, asker)) {
	subject := func(a asker) Subject { return a.usual.Subject() }
	Each(t, inEveryWay(t), subject, run)
}

// expectEnd wants a call to come to an end with another answer than usual.
func expectEnd(t *T, a asker, x trial) {
	code, _ := a.usual.Reply.Code()
	switch {
	case !a.ends(), t.Modern() && code == internalError:
		t.Yield("it does not end well either when the user agrees: %s", Got(a.usual.Reply))
	case !x.Asks(create):
		t.Because(NotObserved).Inconclusive("it has not asked again")
	}
	x.WantHeard(t, create)
	t.Expect(x.Reply).To(BeAnswered(), "when the client answers %s", x.answer)
}

// misfit is a call in which the client has answered a form with content that this does not allow, and those to compare
// it with, in which it was answered with content that it does.
type misfit struct {
	what         string // that is wrong with it
	value, bad   string // of the field, as texts show them; bad is empty: it is missing
	usual, again *kit.Inquiry
	declined     *kit.Inquiry
	*kit.Inquiry // with it
}

func (x misfit) subject() Subject {
	s := x.Subject()
	s.Name += ": " + x.what
	return s
}

// sample is a field of a form with content that tells it apart in a text.
type sample struct {
	field
	good, bad any
	required  bool
}

// isFilledIn reports whether the tool asks a form to begin with.
func (a asker) isFilledIn() bool {
	asked := a.usual.For(create)
	return len(asked) > 0 && contentOf(asked[0]) != nil
}

// misfit answers a form with a value of another type, and without one that is required: of a tool whose calls come to
// an end when the user agrees, since what comes then is to be compared.
func (c *caller) misfit(a *asker) {
	if !a.usual.Reply.Answered() {
		return
	}
	q := a.usual.For(create)[0]
	content := contentOf(q)
	samples := samplesOf(c.t, q)
	if len(samples) == 0 || content == nil {
		return
	}
	accept := func(content M) *kit.Inquiry {
		answer := kit.Answer{Result: M{"action": "accept", "content": content}}
		return c.call(a.usual, kit.Once(c.t, create, answer))
	}
	add := func(s sample, what, bad string, spoilt M) {
		good := maps.Clone(content)
		good[s.name] = s.good
		a.misfits = append(a.misfits, misfit{
			what: what + " " + s.name, value: textOf(s.good), bad: bad, usual: accept(good), again: accept(good),
			declined: a.unwilling[0].Inquiry, Inquiry: accept(spoilt),
		})
	}
	spoilt := maps.Clone(content)
	spoilt[samples[0].name] = samples[0].bad
	add(samples[0], "another type of", textOf(samples[0].bad), spoilt)
	if i := slices.IndexFunc(samples, func(s sample) bool { return s.required }); i >= 0 {
		spoilt := maps.Clone(content)
		delete(spoilt, samples[i].name)
		add(samples[i], "without", "", spoilt)
	}
}

// contentOf is what the client has filled in.
func contentOf(q kit.Question) M {
	if q.Answer == nil {
		return nil
	}
	result, _ := q.Answer.JSON()["result"].(M)
	content, _ := result["content"].(M)
	return content
}

// Values that hardly come in a text for another reason. The schema of 2025-06-18 has no numbers but integers in
// content.
const (
	words  = "mcpcheck-words"
	number = 7325
)

// samplesOf are fields of a form that can be filled in so that it shows, those first that the form requires.
func samplesOf(t *T, q kit.Question) (samples []sample) {
	form, _ := q.Params["requestedSchema"].(M)
	required, _ := form["required"].([]any)
	for _, f := range fieldsOf(q) {
		s := sample{field: f, bad: words, required: slices.Contains(required, any(f.name))}
		switch f.schema["type"] {
		case "string":
			s.good, s.bad = words, number
		case "number", "integer":
			s.good = number
		case "boolean":
			s.good = true
		}
		if s.good != nil && f.allows(t, s.good) {
			samples = append(samples, s)
		}
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return rank(b) - rank(a) })
	return samples
}

// rank is how well a sample shows.
func rank(s sample) (n int) {
	if s.required {
		n++
	}
	if s.good == any(words) {
		n += 2
	}
	return n
}

// textOf is a value as texts show it.
func textOf(v any) string { return strings.Trim(string(Compact(v)), `"`) }

// allows reports whether a field may have a value. Of formats and patterns that cannot be told.
func (f field) allows(t *T, value any) bool {
	form := M{"type": "object", "properties": M{f.name: f.schema}}
	schema, err := schemas.Compile(form, t.Revision)
	return err == nil && !Has(f.schema, "format") && !Has(f.schema, "pattern") &&
		schema.Validate(M{f.name: value}) == nil
}

// expectNoticed wants the server to have noticed that the content is not valid. What it made of that shows only where
// the result is the one to valid content, but for the value.
func expectNoticed(t *T, x misfit) {
	usual, got := saidIn(x.usual), saidIn(x.Inquiry)
	t.Expect(x.Reply).To(BeAnswered(), "with content %s", x.what)
	switch {
	case x.usual.Reply.Result() == nil, x.usual.Reply.Refuses(), !x.Asks(create):
		t.Because(NotObserved).Inconclusive("valid content is not taken either: %s", Got(x.usual.Reply))
	case x.Reply.Refuses(), len(x.Questions) > len(x.usual.Questions), got == saidIn(x.declined):
		return
	case got == usual:
		t.Because(NotObserved).Skip("what the tool returns does not depend on the content")
	case usual != saidIn(x.again):
		t.Because(NotObserved).Inconclusive("what the tool returns is something else each time")
	}
	t.Expect(!x.isTaken(usual, got)).To(Hold("an error, or the question again",
		"the result to valid content, but for the value: %s", Show(x.Reply.Result())))
	t.Inconclusive("what the tool returns does not tell whether it has taken the content: %s", Got(x.Reply))
}

// isTaken reports whether a result is the usual one, but for the value.
func (x misfit) isTaken(usual, got string) bool {
	const gap = "\x00"
	if x.bad != "" {
		return strings.Contains(got, x.bad) &&
			strings.ReplaceAll(usual, x.value, gap) == strings.ReplaceAll(got, x.bad, gap)
	}
	left := strings.Split(got, "\n")
	others := 0
	for line := range strings.SplitSeq(usual, "\n") {
		if strings.Contains(line, x.value) || strings.Trim(line, " {}[],") == "" {
			continue
		}
		i := slices.Index(left, line)
		if i < 0 {
			return false
		}
		left = left[i+1:]
		others++
	}
	return others > 0
}

// saidIn is what a call has returned, without quotes: they stand around some values only.
func saidIn(i *kit.Inquiry) string {
	result := i.Reply.Result()
	text := ""
	for _, block := range kit.ObjectsIn(result["content"]) {
		said, _ := block["text"].(string)
		text += said + "\n"
	}
	if Has(result, "structuredContent") {
		text += string(Compact(result["structuredContent"]))
	}
	return strings.NewReplacer(`"`, "", `\`, "").Replace(text)
}
