package discovery

import (
	"context"
	"io"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestFindWithoutAFurtherProcess checks that one process is enough if the server answers server/discover in any way,
// and that its session is not marked as after invalid input.
func TestFindWithoutAFurtherProcess(t *testing.T) {
	legacy := fakeServer{
		"initialize": initializeResult, "ping": emptyResult,
		"tools/list": legacyToolsResult, "prompts/list": methodNotFound, "resources/list": methodNotFound,
	}
	with := func(discovered string) fakeServer {
		serves := maps.Clone(legacy)
		serves["server/discover"] = discovered
		return serves
	}
	unanswered := with(methodNotFound) // its response might arrive after initialize
	delete(unanswered, "resources/list")
	for _, tt := range []struct {
		name      string
		serves    fakeServer
		request   string // the requested revision; empty is any
		revision  string // the revision that is found
		processes int32
	}{
		{"both eras", with(discoverWithoutVersions), "", "2026-07-28", 1},
		{"both eras, one revision requested", with(discoverWithoutVersions), "2025-11-25", "2025-11-25", 1},
		{"rejects server/discover", with(methodNotFound), "", "2025-11-25", 1},
		{"exits at server/discover", with("-"), "", "2025-11-25", 2},
		{"leaves server/discover unanswered", legacy, "", "2025-11-25", 2},
		{"rejects it, and owes a response", unanswered, "", "2025-11-25", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var started atomic.Int32
				target := driver.Target{Serve: func(
					ctx context.Context, in io.Reader, out, logs io.Writer, term <-chan struct{},
				) int {
					started.Add(1)
					return tt.serves.serve(ctx, in, out, logs, term)
				}, Limits: driver.Limits{ReplyTimeout: 100 * time.Millisecond}}
				f, err := Find(t.Context(), target, tt.request, false)
				if err != nil || f.Server.Failure != "" || f.Unused != nil {
					t.Fatalf("got %+v, %v", f, err)
				}
				defer f.Close()
				if f.Server.Revision != tt.revision || !f.Session.IsOrdinary() || f.Session.HasInvalidInput() {
					t.Errorf("the session is not usable: it has negotiated %q", f.Session.Revision)
				}
				if n := started.Load(); n != tt.processes {
					t.Errorf("%d processes, want %d", n, tt.processes)
				}
			})
		})
	}
}
