package schema

import (
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// traceChecks are the checks of trace context in _meta.
var traceChecks = check.Suite{
	"schema/trace-context-format": check.WatchWithSetup(sendTrace, func(t *check.T, w check.Wire) {
		isTrace := func(key string) bool { return traceFormats[key] != nil }
		check.Judge(t, "trace context", metaEntries(t, w, isTrace), metaEntry.Subject, func(t *check.T, k metaEntry) {
			text, isString := k.value.(string)
			t.Expect(isString && traceFormats[k.key](text)).To(check.BeTrue("a "+k.key+" in the format of the W3C",
				"%s in %s", check.Show(k.value), k.part.name))
		})
	}),
}

// sendTrace sends a request with trace context, which servers may continue.
func sendTrace(t *check.T) {
	t.Send(t.Session(), "server/discover", check.M{"_meta": check.M{
		"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
		"tracestate":  "mcpcheck=1",
		"baggage":     "mcpcheck=1",
	}}, check.AllowSilence)
}

// traceFormats are the formats of the members of _meta that carry trace context (W3C Trace Context and W3C Baggage).
var traceFormats = map[string]func(string) bool{
	"traceparent": isTraceParent, "tracestate": isTraceState, "baggage": isBaggage,
}

var (
	traceParentPattern = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)
	traceStatePattern  = regexp.MustCompile(`^[a-z0-9][a-z0-9_*/@-]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$`)
	baggagePattern     = regexp.MustCompile(`^` + baggagePair + `(` + baggageSpace + `;` + baggageSpace +
		baggageProperty + `)*$`)
)

const (
	baggageSpace    = `[ \t]*`
	baggageKey      = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
	baggageValue    = `[!#-+\--:<-\[\]-~]*`
	baggagePair     = baggageKey + baggageSpace + `=` + baggageSpace + baggageValue
	baggageProperty = `(` + baggagePair + `|` + baggageKey + `)`
)

// isTraceParent reports whether a text is a traceparent. Versions later than 00 may have more fields.
func isTraceParent(text string) bool {
	p := traceParentPattern.FindStringSubmatch(text)
	if p == nil {
		return false
	}
	version, traceID, parentID, more := p[1], p[2], p[3], p[4]
	isZero := func(id string) bool { return strings.Trim(id, "0") == "" }
	return version != "ff" && !isZero(traceID) && !isZero(parentID) && (version != "00" || more == "")
}

// isTraceState reports whether a text is a tracestate. Members of its list may be empty.
func isTraceState(text string) bool {
	const most = 32
	members := strings.Split(text, ",")
	for _, member := range members {
		if member = strings.Trim(member, " \t"); member != "" && !traceStatePattern.MatchString(member) {
			return false
		}
	}
	return len(members) <= most
}

// isBaggage reports whether a text is a baggage-string.
func isBaggage(text string) bool {
	for member := range strings.SplitSeq(text, ",") {
		if !baggagePattern.MatchString(strings.Trim(member, " \t")) {
			return false
		}
	}
	return true
}
