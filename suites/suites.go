// Package suites is the table of areas. An area has its requirements in suites/<area>/<area>.yaml, and the checks that
// try them in the package in the same directory.
//
// Begin with Areas, All and Checks. An entry without a check, a check without an entry, and two checks for
// one id do not exist, which tests ensure. The package only collects: checks are planned and run by package
// engine, and the entries themselves are read by package catalogue.
package suites

import (
	_ "embed"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/advice"
	"github.com/mcpcheck/mcpcheck/suites/apps"
	"github.com/mcpcheck/mcpcheck/suites/auth"
	"github.com/mcpcheck/mcpcheck/suites/batch"
	"github.com/mcpcheck/mcpcheck/suites/caching"
	"github.com/mcpcheck/mcpcheck/suites/cancellation"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/completion"
	"github.com/mcpcheck/mcpcheck/suites/discover"
	"github.com/mcpcheck/mcpcheck/suites/elicitation"
	"github.com/mcpcheck/mcpcheck/suites/extensions"
	"github.com/mcpcheck/mcpcheck/suites/http"
	"github.com/mcpcheck/mcpcheck/suites/jsonrpc"
	"github.com/mcpcheck/mcpcheck/suites/lifecycle"
	"github.com/mcpcheck/mcpcheck/suites/logging"
	"github.com/mcpcheck/mcpcheck/suites/mrtr"
	"github.com/mcpcheck/mcpcheck/suites/pagination"
	"github.com/mcpcheck/mcpcheck/suites/ping"
	"github.com/mcpcheck/mcpcheck/suites/progress"
	"github.com/mcpcheck/mcpcheck/suites/prompts"
	"github.com/mcpcheck/mcpcheck/suites/resources"
	"github.com/mcpcheck/mcpcheck/suites/result"
	"github.com/mcpcheck/mcpcheck/suites/robust"
	"github.com/mcpcheck/mcpcheck/suites/roots"
	"github.com/mcpcheck/mcpcheck/suites/sampling"
	"github.com/mcpcheck/mcpcheck/suites/schema"
	"github.com/mcpcheck/mcpcheck/suites/skills"
	"github.com/mcpcheck/mcpcheck/suites/sse"
	"github.com/mcpcheck/mcpcheck/suites/stateless"
	"github.com/mcpcheck/mcpcheck/suites/stdio"
	"github.com/mcpcheck/mcpcheck/suites/subscriptions"
	"github.com/mcpcheck/mcpcheck/suites/tasks"
	tasksext "github.com/mcpcheck/mcpcheck/suites/tasks-ext"
	"github.com/mcpcheck/mcpcheck/suites/tools"
	"github.com/mcpcheck/mcpcheck/suites/version"
)

// Area is a part of the specification with its checks.
type Area struct {
	catalogue.Area
	// Description says in a few words what the area is about.
	Description string
	// Checks are the checks of the area, by id; nil where there is none yet.
	Checks check.Suite
}

// Areas are all areas, in the order of reports.
var Areas = []Area{
	{
		catalogue.Area{Name: "lifecycle"},
		"How a session begins, what a server does while it serves, and how it ends",
		lifecycle.Checks,
	},
	{catalogue.Area{Name: "stdio"}, "The transport over standard streams", stdio.Checks},
	{
		catalogue.Area{Name: "http", ChooseRevision: catalogue.AtLeast("2025-03-26")},
		"The transport Streamable HTTP: messages, sessions, streams, security",
		http.Checks,
	},
	{catalogue.Area{Name: "sse", ChooseRevision: catalogue.NearestRevision}, "The transport HTTP+SSE of 2024-11-05",
		sse.Checks},
	{catalogue.Area{Name: "jsonrpc"}, "Messages by JSON-RPC: ids, answers, errors, notifications", jsonrpc.Checks},
	{catalogue.Area{Name: "result"}, "What all results have in common since 2026-07-28", result.Checks},
	{catalogue.Area{Name: "batch"}, "Batches of JSON-RPC, which 2025-03-26 has", batch.Checks},
	{catalogue.Area{Name: "discover"}, "The request server/discover of 2026-07-28", discover.Checks},
	{catalogue.Area{Name: "version"}, "Versions and eras of the protocol, request by request", version.Checks},
	{catalogue.Area{Name: "stateless"}, "Requests that depend on no session", stateless.Checks},
	{catalogue.Area{Name: "ping"}, "The request ping", ping.Checks},
	{catalogue.Area{Name: "cancellation"}, "Requests that the client takes back", cancellation.Checks},
	{catalogue.Area{Name: "progress"}, "Notifications of progress", progress.Checks},
	{catalogue.Area{Name: "pagination"}, "Lists in pages", pagination.Checks},
	{catalogue.Area{Name: "logging"}, "Log messages to the client", logging.Checks},
	{catalogue.Area{Name: "completion"}, "Completion of arguments", completion.Checks},
	{catalogue.Area{Name: "tools"}, "Tools: lists, definitions, calls and results", tools.Checks},
	{catalogue.Area{Name: "resources"}, "Resources and templates of resources", resources.Checks},
	{catalogue.Area{Name: "prompts"}, "Prompts: lists, what comes of getting them, errors", prompts.Checks},
	{catalogue.Area{Name: "roots", ClientDeclares: true}, "Roots of the client, as the server asks for them",
		roots.Checks},
	{catalogue.Area{Name: "sampling", ClientDeclares: true}, "Requests for messages of the client's model",
		sampling.Checks},
	{catalogue.Area{Name: "elicitation", ClientDeclares: true}, "Questions to the user", elicitation.Checks},
	{catalogue.Area{Name: "mrtr"}, "Results that ask for input, and are asked for again", mrtr.Checks},
	{catalogue.Area{Name: "subscriptions"}, "Streams of notifications that the client listens to",
		subscriptions.Checks},
	{catalogue.Area{Name: "caching"}, "Hints for caches", caching.Checks},
	{
		catalogue.Area{Name: "schema"},
		"Messages by the schema, and what features share: _meta, icons, annotations",
		schema.Checks,
	},
	{catalogue.Area{Name: "tasks"}, "Tasks of 2025-11-25", tasks.Checks},
	{catalogue.Area{Name: "tasks-ext"}, "The extension of tasks", tasksext.Checks},
	{catalogue.Area{Name: "apps"}, "The extension of apps", apps.Checks},
	{catalogue.Area{Name: "skills"}, "The extension of skills", skills.Checks},
	{catalogue.Area{Name: "extensions"}, "Extensions, as they are negotiated", extensions.Checks},
	{catalogue.Area{Name: "auth"}, "Authorization over HTTP: tokens, challenges, metadata", auth.Checks},
	{catalogue.Area{Name: "robust"}, "What a server survives, and what is the same each time", robust.Checks},
	{catalogue.Area{Name: "advice"}, "Good practice that no sentence of the specification asks for", advice.Checks},
}

//go:generate go test -run ^TestCatalogueIsCurrent$ . -update
//go:generate go test -run ^TestPagesAreCurrent$ ../cmd/mcpcheck -update

// All returns every requirement with its area set, including those without a check.
var All = sync.OnceValue(func() catalogue.Catalogue {
	all := catalogue.All()
	for _, a := range Areas {
		a.AssignTo(a.entriesIn(all))
	}
	all.AssignRules(DirectoryRules())
	return all
})

//go:embed directories.yaml
var directoriesYAML []byte

// DirectoryRules are the listing rules of public directories of servers.
var DirectoryRules = sync.OnceValue(func() []catalogue.DirectoryRule {
	all, err := catalogue.ReadDirectories(directoriesYAML)
	if err != nil {
		panic("suites: directories.yaml: " + err.Error()) // a test reads it
	}
	return all
})

// Requirements returns the entries of the area.
func (a Area) Requirements() catalogue.Catalogue { return a.entriesIn(All()) }

// entriesIn returns the entries of the area among all entries.
func (a Area) entriesIn(all catalogue.Catalogue) (own catalogue.Catalogue) {
	for _, r := range all {
		if r.Area() == a.Name {
			own = append(own, r)
		}
	}
	return own
}

// Implemented returns the requirements that have a check.
var Implemented = sync.OnceValue(func() catalogue.Catalogue {
	return slices.DeleteFunc(slices.Clone(All()), func(r *catalogue.Requirement) bool { return !HasCheck(r) })
})

// Checks returns all checks, by the id of their requirement.
var Checks = sync.OnceValue(func() check.Suite {
	var all []check.Suite
	for _, a := range Areas {
		all = append(all, a.Checks)
	}
	return check.MergeSuites(all...)
})

// HasCheck reports whether the requirement has a check.
func HasCheck(r *catalogue.Requirement) bool {
	_, has := Checks()[r.ID]
	return has
}

// HasCheckIn reports whether the requirement has a check and applies in the revision.
func HasCheckIn(r *catalogue.Requirement, revision string) bool {
	return HasCheck(r) && r.AppliesIn(revision)
}

//go:embed sdks.yaml
var sdksYAML []byte

// SDKs returns the SDKs whose known deviations entries name.
var SDKs = sync.OnceValue(func() []catalogue.SDK {
	all, err := catalogue.ReadSDKs(sdksYAML)
	if err != nil {
		panic("suites: sdks.yaml: " + err.Error()) // tests make sure that it can be read
	}
	return all
})

// SDKName returns the name of the SDK with that id, which has to be one of SDKs.
func SDKName(id string) string {
	i := slices.IndexFunc(SDKs(), func(s catalogue.SDK) bool { return s.ID == id })
	return SDKs()[i].Name
}

//go:embed untestable.yaml
var untestableYAML []byte

// Untestable are the requirements that no check can decide, in the order of areas.
var Untestable = sync.OnceValue(func() []catalogue.Untestable {
	all, err := catalogue.ReadUntestable(untestableYAML)
	if err != nil {
		panic("suites: untestable.yaml:" + err.Error()) // a test reads it
	}
	return all
})

//go:embed sentences.yaml
var sentencesYAML []byte

// Sentences are the sentences of the specification with a keyword, by revision and page. Few commands need them, and to
// parse them takes a while.
var Sentences = sync.OnceValue(func() []catalogue.Sentence {
	all, err := catalogue.ReadSentences(sentencesYAML)
	if err != nil {
		panic("suites: sentences.yaml:" + err.Error()) // a test reads it
	}
	return all
})

// Find returns the requirement with that id, whether it has a check or not.
func Find(id string) (*catalogue.Requirement, bool) {
	i := slices.IndexFunc(All(), func(r *catalogue.Requirement) bool { return r.ID == id })
	if i < 0 {
		return nil, false
	}
	return All()[i], true
}
