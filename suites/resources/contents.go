package resources

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// contentChecks are the checks of the results of resources/read.
var contentChecks = check.Suite{
	"resources/read-listed": check.Probe(func(t *check.T) {
		eachRead(t, func(t *check.T, r readResult) {
			switch {
			case !r.reply.Answered():
				t.NoVerdict(check.Undecided, "%v", check.Explain(r.reply.Err))
			case toolcall.IsInputRequired(t, r.reply):
				t.NoVerdict(check.Undecided, "it asks for input that mcpcheck could not give")
			case r.reply.Result() != nil:
				if _, isList := r.reply.Result()["contents"].([]any); !isList {
					t.Yield("the result has no array contents")
				}
			case !toolcall.IsNotFound(r.reply):
				t.NoVerdict(check.Undecided, "it is refused, but not as unknown: %s", check.Got(r.reply))
			case r.askedForInput:
				t.NoVerdict(check.OtherCheck, "it asked for input, and then brought %s",
					check.Got(r.reply))
			case strings.HasPrefix(strings.ToLower(r.uri), "https:"):
				t.NoVerdict(check.Undecided, "clients fetch it from the web: %s", check.Got(r.reply))
			case !slices.Contains(listedAfterRead(t), r.uri):
				t.NoVerdict(check.Undecided, "it has left the list: %s", check.Got(r.reply))
			default:
				t.Fail("contents, since it is listed", "%s", r.reply)
			}
		})
	}),

	"resources/read-result-schema": check.WatchWithSetup(readAll, func(t *check.T, w check.Wire) {
		t.Judge(finalReadResults(t, w), func(t *check.T, m check.Message) {
			broken := protocol.Violations(t, "resources/read-result-schema", "ReadResourceResult", protocol.ResultOf(m))
			t.Expect(broken).To(check.BeEmptyList[string]("a valid ReadResourceResult"))
		})
	}),

	"resources/read-text-or-blob": check.WatchWithSetup(readAll, func(t *check.T, w check.Wire) {
		t.Judge(finalReadResults(t, w), func(t *check.T, m check.Message) {
			for _, content := range protocol.ObjectsIn(protocol.ResultOf(m)["contents"]) {
				t.Expect(check.HasMember(content, "text") && check.HasMember(content, "blob")).To(check.BeOneOf(false),
					"both text and blob")
			}
		})
	}),

	"resources/blob-base64": check.Probe(func(t *check.T) {
		eachReadOrTemplate(t, func(t *check.T, r readResult) {
			seen := false
			for _, content := range protocol.ObjectsIn(r.reply.Result()["contents"]) {
				blob, isString := content["blob"].(string)
				if !isString || check.HasMember(content, "text") {
					continue
				}
				seen = true
				toolcall.ExpectBase64(t, blob)
			}
			if !seen {
				t.Skip(check.NotObserved, "no blob was seen")
			}
		})
	}),

	"resources/size-matches": check.Probe(func(t *check.T) {
		eachRead(t, func(t *check.T, r readResult) {
			size, isNumber := r.resource["size"].(json.Number)
			if !isNumber {
				t.Skip(check.NotOffered, "no resource has a size")
			}
			content := r.requireOnlyContent(t)
			blob, isBlob := content["blob"].(string)
			raw, err := base64.StdEncoding.DecodeString(blob)
			text, isText := content["text"].(string)
			if isBlob == isText || err != nil {
				t.Yield("its content is not one blob of base64 or one text")
			}
			length := json.Number(strconv.Itoa(len(raw) + len(text)))
			if numberIn(size) == numberIn(length) {
				return
			}
			requireSameSize(t, r, size)
			if isBlob {
				t.Expect(length).To(check.BeOneOf(size), "the number of bytes, as the list has it")
			}
			// The raw content of a text may be in another encoding, or have a byte order mark.
			t.ExpectAdvice(length).To(check.BeOneOf(size), "the number of bytes in UTF-8, as the list has it")
		})
	}),

	"resources/mime-type-agrees": check.Probe(func(t *check.T) {
		eachRead(t, func(t *check.T, r readResult) {
			listed, read := mediaType(r.resource), mediaType(r.requireOnlyContent(t))
			if listed == "" || read == "" || strings.HasPrefix(listed, "inode/") {
				t.Skip(check.NotObserved, "no mimeType was seen both in the list and in what was read")
			}
			t.Expect(read).To(check.BeOneOf(listed), "the mimeType of what was read")
		})
	}),

	"resources/text-is-text": check.Probe(func(t *check.T) {
		eachReadOrTemplate(t, func(t *check.T, r readResult) {
			texts := 0
			for _, content := range protocol.ObjectsIn(r.reply.Result()["contents"]) {
				if text, isText := content["text"].(string); isText && text != "" {
					texts++
					t.Expect(!looksBinary(text)).To(check.BeTrue("text", "%s", check.Show(text)))
				}
			}
			if texts == 0 {
				t.Skip(check.NotObserved, "no text was seen")
			}
		})
	}),
}

// looksBinary reports whether a text has NUL, or is for a twentieth of other control characters and of those that
// decoders put in the place of invalid bytes.
func looksBinary(text string) bool {
	odd, all := 0, 0
	for _, c := range text {
		all++
		if c == utf8.RuneError || unicode.IsControl(c) && !strings.ContainsRune("\t\n\v\f\r\x1b", c) {
			odd++
		}
	}
	return strings.ContainsRune(text, 0) || odd > 1 && odd*20 >= all
}

// mediaType returns the mimeType of a resource or of its content in lower case, without parameters; empty when there is
// none, or one that resources/mime-type-format reports.
func mediaType(item check.M) string {
	text, _ := item["mimeType"].(string)
	if !mediaTypePattern.MatchString(text) {
		return ""
	}
	name, _, _ := strings.Cut(text, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// readResult is a listed resource with the reply to resources/read.
type readResult struct {
	uri      string
	resource check.M
	// askedForInput reports that the server asked for input first, and got it.
	askedForInput bool
	reply         driver.Reply
}

func (r readResult) subject() check.Subject {
	return check.Subject{Name: r.uri, Frames: []*driver.Frame{r.reply.Request, r.reply.Frame}}
}

// readResults reads the listed resources once for all checks, as many as the time and size limits allow. Those with a
// large declared size are read last. Requests for input are answered.
func readResults(t *check.T) []readResult {
	if responses, recorded := check.RecordedResponses(t, readMethod); recorded {
		return recordedReads(t, responses)
	}
	all := check.Step(t, "listed resources, read", func(t *check.T) (all []readResult) {
		const long = 1 << 20
		isLong := func(resource check.M) bool { return numberIn(resource["size"]) > long }
		allowance, s := toolcall.NewCallBudget(), t.Session()
		for _, late := range []bool{false, true} {
			for _, resource := range t.Server.Resources {
				uri, isString := resource["uri"].(string)
				spent := allowance.ExhaustedReason() != "" || check.KnownUnanswered(t, readMethod) != nil
				if !isString || isLong(resource) != late || spent {
					continue
				}
				c := toolcall.RunInputLoop(t, s, readMethod, toolcall.WithAllCapabilities(t, check.M{"uri": uri}))
				r := readResult{uri: uri, resource: resource, askedForInput: len(c.InputReplies) > 0,
					reply: c.LastReply}
				all = append(all, r)
				if allowance.Charge(r.reply); !s.IsUsable() {
					allowance.Pause()
					s = t.Session()
				}
			}
		}
		return all
	})
	if n := len(t.Server.Resources) - len(all); n > 0 && len(all) > 0 {
		t.Caveat("%d of %d resources were not read: mcpcheck spends ten seconds on that", n, len(t.Server.Resources))
	}
	return all
}

// recordedReads returns the listed resources whose reading a recording has.
func recordedReads(t *check.T, responses []check.Message) (all []readResult) {
	for _, resource := range t.Server.Resources {
		for _, m := range responses {
			params, _ := m.Request.JSON()["params"].(check.M)
			uri, isString := params["uri"].(string)
			if isString && uri == resource["uri"] && !toolcall.IsRefusedRetry(m) {
				all = append(all, readResult{uri: uri, resource: resource, reply: m.Reply()})
			}
		}
	}
	if n := len(t.Server.Resources) - len(all); n > 0 && len(all) > 0 {
		t.Caveat("%d of %d resources were not read in the recording", n, len(t.Server.Resources))
	}
	return all
}

// listedAfterRead returns the URIs that are listed after the listed resources were read.
func listedAfterRead(t *check.T) []string {
	readAll(t)
	return check.Step(t, "listed resources, once they were read",
		func(t *check.T) []string { return listedURIs(t, t.Session()) })
}

// readAll makes sure that the listed resources were read, and an expansion of each template.
func readAll(t *check.T) {
	readResults(t)
	toolcall.ReadTemplates(t)
}

// eachRead runs a check on each resource that was read.
func eachRead(t *check.T, run func(*check.T, readResult)) {
	if len(t.Server.Resources) == 0 {
		t.Skip(check.NotOffered, "the server lists no resource")
	}
	all := readResults(t)
	if len(all) == 0 {
		t.Retry(check.Undecided, "no resource was read: %v", check.KnownUnanswered(t, readMethod))
	}
	check.Each(t, all, readResult.subject, run)
}

// eachReadOrTemplate is eachRead, which also runs the check on what was read by templates.
func eachReadOrTemplate(t *check.T, run func(*check.T, readResult)) {
	all := templateReads(t)
	if len(all) == 0 {
		eachRead(t, run)
		return
	}
	check.Each(t, slices.Concat(readResults(t), all), readResult.subject, run)
}

// finalReadResults returns the results of resources/read in the whole run, except those that ask for input.
func finalReadResults(t *check.T, w check.Wire) check.Messages {
	meaningless := invalid.SameAsUnknownMethod(w)
	return w.ResultsOf(readMethod).Negotiated(t.Revision).Filter("result of "+readMethod, func(m check.Message) bool {
		result := protocol.ResultOf(m)
		return toolcall.ResultType(result) == "complete" && !meaningless(result)
	})
}

// requireOnlyContent returns the content of a resource. It ends the check where there is not exactly one with its URI,
// or another resource is listed with it.
func (r readResult) requireOnlyContent(t *check.T) check.M {
	all := protocol.ObjectsIn(r.reply.Result()["contents"])
	if len(all) != 1 || all[0]["uri"] != r.uri {
		t.Skip(check.NotObserved, "no resource was read that has one content of its own URI")
	}
	isOther := func(m check.M) bool { return m["uri"] == r.uri && !reflect.DeepEqual(m, r.resource) }
	if slices.ContainsFunc(t.Server.Resources, isOther) {
		t.Yield("another resource is listed with its URI")
	}
	return all[0]
}

// requireSameSize ends the check if the listed size of a resource has changed since.
func requireSameSize(t *check.T, r readResult, size json.Number) {
	var now any
	check.FollowPages(t, t.Session(), listMethod, "resources", func(result check.M) {
		for _, resource := range protocol.ObjectsIn(result["resources"]) {
			if resource["uri"] == r.uri {
				now = resource["size"]
			}
		}
	})
	if now != any(size) {
		t.NoVerdict(check.Undecided, "its size changes: %s, then %s", size, check.Show(now))
	}
}

// numberIn returns a JSON number; 0 if the value is not one.
func numberIn(v any) float64 {
	n, _ := v.(json.Number)
	f, _ := n.Float64()
	return f
}
