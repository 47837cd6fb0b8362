package resources

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// contents are the checks of what comes of reading resources.
var contents = Suite{
	"resources/read-listed": Probe(func(t *T) {
		eachReading(t, func(t *T, r reading) {
			switch code, isError := r.reply.Code(); {
			case !r.reply.Answered():
				t.Inconclusive("%v", Explain(r.reply.Err))
			case kit.AsksForInput(t, r.reply):
				t.Inconclusive("it asks for input that mcpcheck could not give")
			case r.reply.Result() != nil:
				if _, isList := r.reply.Result()["contents"].([]any); !isList {
					t.Yield("the result has no array contents")
				}
			case !isError || !slices.Contains(missing, code):
				t.Inconclusive("it is refused, but not as unknown: %s", Got(r.reply))
			case r.asked:
				t.Because(OtherCheck).Inconclusive("it asked for input, and then brought %s", Got(r.reply))
			case strings.HasPrefix(strings.ToLower(r.uri), "https:"):
				t.Inconclusive("clients fetch it from the web: %s", Got(r.reply))
			case !slices.Contains(stillListed(t), r.uri):
				t.Inconclusive("it has left the list: %s", Got(r.reply))
			default:
				t.Fail("contents, since it is listed", "%s", r.reply)
			}
		})
	}),

	"resources/read-result-schema": WatchAfter(readAll, func(t *T, w Wire) {
		t.Judge(results(t, w), func(t *T, m Message) {
			broken := kit.Broken(t, "resources/read-result-schema", "ReadResourceResult", kit.ResultOf(m))
			t.Expect(broken).To(BeEmptyList[string]("a valid ReadResourceResult"))
		})
	}),

	"resources/read-text-or-blob": WatchAfter(readAll, func(t *T, w Wire) {
		t.Judge(results(t, w), func(t *T, m Message) {
			for _, content := range kit.ObjectsIn(kit.ResultOf(m)["contents"]) {
				t.Expect(Has(content, "text") && Has(content, "blob")).To(BeOneOf(false), "both text and blob")
			}
		})
	}),

	"resources/blob-base64": Probe(func(t *T) {
		eachReading(t, func(t *T, r reading) {
			all := kit.ObjectsIn(r.reply.Result()["contents"])
			seen := false
			for _, content := range all {
				blob, isString := content["blob"].(string)
				if !isString || Has(content, "text") {
					continue
				}
				seen = true
				kit.ExpectBase64(t, blob)
				if len(all) == 1 && content["uri"] == r.uri {
					expectSize(t, r, blob)
				}
			}
			if !seen {
				t.Because(NotObserved).Skip("no blob was seen")
			}
		})
	}),
}

// missing are the codes with which servers say that there is no such resource, or no resources at all.
var missing = []int{-32002, kit.InvalidParams, -32601}

// reading is a resource of the list, and what came of reading it.
type reading struct {
	uri      string
	resource M
	asked    bool // for input, which it was given
	reply    driver.Reply
}

func (r reading) subject() Subject {
	return Subject{Name: r.uri, Frames: []*driver.Frame{r.reply.Request, r.reply.Frame}}
}

// readings are what is listed, read once for all checks: as much as there is time and room for, what is known to be
// long in the end. Who asks for input gets it.
func readings(t *T) []reading {
	all := Step(t, "listed resources, read", func(t *T) (all []reading) {
		const long = 1 << 20
		isLong := func(resource M) bool { return numberIn(resource["size"]) > long }
		allowance, s := kit.NewAllowance(), t.Session()
		for _, late := range []bool{false, true} {
			for _, resource := range t.Server.Resources {
				uri, isString := resource["uri"].(string)
				spent := allowance.Spent() != "" || KnownUnanswered(t, readMethod) != nil
				if !isString || isLong(resource) != late || spent {
					continue
				}
				c := kit.Converse(t, s, readMethod, kit.Enabling(t, M{"uri": uri}))
				r := reading{uri: uri, resource: resource, asked: len(c.Asked) > 0, reply: c.Last}
				all = append(all, r)
				if allowance.Spend(r.reply); !s.Usable() {
					allowance.Stop()
					s = t.Session()
				}
			}
		}
		return all
	})
	if n := len(t.Server.Resources) - len(all); n > 0 && len(all) > 0 {
		t.Partly("%d of %d resources were not read: mcpcheck spends ten seconds on that", n, len(t.Server.Resources))
	}
	return all
}

// stillListed are the URIs that are listed once what is listed was read.
func stillListed(t *T) []string {
	readAll(t)
	return Step(t, "listed resources, once they were read", func(t *T) []string { return urisNow(t, t.Session()) })
}

// readAll sees to it that what is listed was read.
func readAll(t *T) { readings(t) }

// eachReading tries a check on each resource that was read.
func eachReading(t *T, run func(*T, reading)) {
	if len(t.Server.Resources) == 0 {
		t.Because(NotOffered).Skip("the server lists no resource")
	}
	all := readings(t)
	if len(all) == 0 {
		t.Again("no resource was read: %v", KnownUnanswered(t, readMethod))
	}
	Each(t, all, reading.subject, run)
}

// results are the results of readings in the whole run, but those that ask for input.
func results(t *T, w Wire) Messages {
	meaningless := kit.Meaningless(w)
	return w.ResultsOf(readMethod).Established(t.Revision).Filter("result of "+readMethod, func(m Message) bool {
		result := kit.ResultOf(m)
		return kit.TypeOf(result) == "complete" && !meaningless(result)
	})
}

// expectSize wants a blob to be as long as the list says, unless it has changed since.
func expectSize(t *T, r reading, blob string) {
	size, listed := r.resource["size"].(json.Number)
	raw, err := base64.StdEncoding.DecodeString(blob)
	if !listed || err != nil || numberIn(size) == float64(len(raw)) {
		return
	}
	var now any
	FollowPages(t, t.Session(), listMethod, "resources", func(result M) {
		for _, resource := range kit.ObjectsIn(result["resources"]) {
			if resource["uri"] == r.uri {
				now = resource["size"]
			}
		}
	})
	if now != any(size) {
		t.Inconclusive("its size changes: %s, then %s", size, Show(now))
	}
	t.Warn(json.Number(strconv.Itoa(len(raw)))).To(BeOneOf(size), "the number of bytes, as the list has it")
}

// numberIn is a JSON number; 0 when it is none.
func numberIn(v any) float64 {
	n, _ := v.(json.Number)
	f, _ := n.Float64()
	return f
}
