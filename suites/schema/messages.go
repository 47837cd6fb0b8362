package schema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// messageChecks are the checks of whole messages by the schema, and of free members.
var messageChecks = check.Suite{
	"schema/all-server-messages-valid": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		meaningless := invalid.SameAsUnknownMethod(w)
		meant := validateMessages(t, w).Filter(func(x validatedMessage) bool {
			return x.violations == nil || !x.HasResult || !meaningless(protocol.ResultOf(x.Message))
		})
		expectNoViolations(t, "schema/all-server-messages-valid", "a message that its schema allows", "message", meant)
	}),

	"schema/optional-members-not-null": check.Watch(func(t *check.T, w check.Wire) {
		expectNoViolations(t, "schema/optional-members-not-null", "optional members set or left out", "message",
			validateMessages(t, w))
	}),

	"schema/unknown-server-methods": check.Watch(func(t *check.T, w check.Wire) {
		isCall := func(m check.Message) bool { return m.Method != "" }
		sent := w.Messages().Negotiated(t.Revision).Filter("request and no notification", isCall)
		t.Judge(sent, expectKnownMethod)
	}),

	"schema/capability-shapes": check.Watch(func(t *check.T, w check.Wire) {
		expectNoViolations(t, "schema/capability-shapes", "capabilities that are objects with boolean flags",
			"capabilities", validateMessages(t, w).Filter(hasPart("capabilities")))
	}),

	"schema/instructions-type": check.Watch(func(t *check.T, w check.Wire) {
		definition, what := "InitializeResult", "result of initialize"
		if t.IsModern() {
			definition, what = "DiscoverResult", "result of server/discover"
		}
		results := validateMessages(t, w).Filter(func(x validatedMessage) bool { return x.definition == definition })
		expectNoViolations(t, "schema/instructions-type", "instructions that are a string, or none", what, results)
	}),

	"schema/implementation-website-url": check.Watch(func(t *check.T, w check.Wire) {
		check.Judge(t, "websiteUrl", validateMessages(t, w).Parts("websiteUrl"), part.Subject,
			func(t *check.T, p part) {
				text, ok := p.value.(string)
				if !ok {
					t.Yield("websiteUrl is not a string")
				}
				t.Expect(text).To(check.Satisfy("an absolute http or https URL", isWebURL))
			})
	}),

	"schema/unknown-client-capabilities-tolerated": check.ProcessProbe(func(t *check.T) {
		t.Expect(handshake.RunScenario(t,
			handshake.Scenario{UnknownCapabilities: true}).ConnectReply).To(check.BeResult())
	}).InModern(check.Probe(func(t *check.T) {
		eachServed(t, check.M{driver.MetaCapabilities: protocol.UnknownCapabilities},
			func(t *check.T, r driver.Reply) { t.Expect(r).To(check.BeResult()) })
	})),

	"schema/request-meta-tolerated": check.Probe(func(t *check.T) {
		eachServed(t, openMeta(t), func(t *check.T, r driver.Reply) { t.Expect(r).To(check.BeServed()) })
	}),
}

// openMeta is a _meta that any client may send, with a key that no server knows and, where keys are reserved for it,
// the trace context of OpenTelemetry. Tokens are tried by progress/token-types-accepted.
func openMeta(t *check.T) check.M {
	meta := maps.Clone(protocol.MetaWithoutToken)
	if t.IsModern() {
		maps.Copy(meta, check.M{
			"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "mcpcheck=1",
			"baggage": "mcpcheck=1",
		})
	}
	return meta
}

// expectNoViolations requires messages to have no violations that belong to the entry; what names the messages in
// reasons.
func expectNoViolations(t *check.T, id, want, what string, messages validatedMessages) {
	check.Judge(t, what, messages, validatedMessage.Subject, func(t *check.T, x validatedMessage) {
		broken := x.ViolationsOwnedBy(id)
		t.Expect(len(broken) == 0).To(check.BeTrue(want, "%s", violationsText(broken)))
	})
}

// violationsText describes violations, once for all items of a list.
func violationsText(broken []schemas.Violation) string {
	first := map[string]schemas.Violation{}
	times := map[string]int{}
	var order []string
	for _, v := range broken {
		key := v.Definition + withoutIndexes(v.Path) + v.Rule
		if times[key]++; times[key] == 1 {
			first[key] = v
			order = append(order, key)
		}
	}
	var lines []string
	for _, key := range order {
		line := first[key].String()
		if n := times[key] - 1; n > 0 {
			line += fmt.Sprintf(" (and in %d more items)", n)
		}
		lines = append(lines, line)
	}
	const most = 5
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more violations", n))
	}
	return strings.Join(lines, "; ")
}

// withoutIndexes returns a path without the indexes of list items.
func withoutIndexes(path string) string {
	steps := strings.Split(path, "/")
	for i, step := range steps {
		if _, err := strconv.Atoi(step); err == nil {
			steps[i] = "*"
		}
	}
	return strings.Join(steps, "/")
}

// hasPart selects messages with a part of that member.
func hasPart(member string) func(validatedMessage) bool {
	return func(x validatedMessage) bool {
		return slices.ContainsFunc(x.parts, func(p part) bool { return p.member == member })
	}
}

// expectKnownMethod requires a method that the revision defines for servers.
func expectKnownMethod(t *check.T, m check.Message) {
	_, request := schemas.RequestDefinition(t.Revision, m.Method)
	_, notification := schemas.NotificationDefinition(t.Revision, m.Method)
	if request || notification {
		return
	}
	if _, later := schemas.MethodSince(m.Method); later {
		t.Yield("%s is of a later revision", m.Method)
	}
	if hasExtension(t.Server.Capabilities) {
		t.Skip(check.NotApplicable, "the server declares an extension, which may define %s", m.Method)
	}
	if m.IsNotification() {
		t.FailAt(catalogue.Advice, "a notification that servers send in "+t.Revision, "%s", m.Method)
	}
	t.Fail("a request that servers send in "+t.Revision, "%s", m.Method)
}

// hasExtension reports whether capabilities have a member that no legacy revision defines.
func hasExtension(capabilities check.M) bool {
	defined := []string{"logging", "completions", "prompts", "resources", "tools", "tasks"}
	for name, v := range capabilities {
		experimental, _ := v.(check.M)
		if name == "experimental" && len(experimental) > 0 ||
			name != "experimental" && !slices.Contains(defined, name) {
			return true
		}
	}
	return false
}

// eachServed sends a request of each method that the server serves, with more members in its _meta, which should make
// no difference, and runs a check on each reply.
func eachServed(t *check.T, meta check.M, run func(t *check.T, r driver.Reply)) {
	requests.EachValid(t, func(t *check.T, request requests.Request) {
		run(t, request.SendWith(t, t.Session(), meta))
	})
}

var (
	frequentTLDs = strings.Fields("com org net edu gov io dev ai app co uk de fr eu us jp cn")
	otherTLDs    = strings.Fields("mil int info biz name pro cloud tech xyz online site " +
		"ac ae ag ar at au be bg br by ca cc ch ci cl cr cz dk ec ee eg es fi fm gg gr hk hr hu id ie il im in ir " +
		"is it ke kr kz " +
		"la li lt lu lv ly ma me mx my ng nl no nz pe ph pk pl pt ro rs ru sa se sg sh si sk so st su th tk tn to " +
		"tr tv tw ua uy uz ve vn za")
)

var (
	uriSchemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
	iconSizePattern  = regexp.MustCompile(`^([0-9]+x[0-9]+|any)$`)

	// timestampPattern matches an ISO 8601 date with or without a time.
	timestampPattern = regexp.MustCompile(
		`^\d{4}(?:` + monthDate + `|` + weekDate + `|` + ordinalDate + `)?(?:T` + timeOfDay + timeZone + `)?$`,
	)
)

const (
	monthDate   = `-?(?:0[1-9]|1[0-2])(?:-?(?:0[1-9]|[12]\d|3[01]))?`
	weekDate    = `-?W[0-5]\d(?:-?[1-7])?`
	ordinalDate = `-?[0-3]\d\d`
	timeOfDay   = `(?:[01]\d|2[0-4])(?::?[0-5]\d(?::?(?:[0-5]\d|60))?)?(?:[.,]\d+)?`
	timeZone    = `(?:Z|[+-]\d\d(?::?\d\d)?)?`
)
