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

// One process is enough where the server answers server/discover, whatever it says. Its session is not a hostile one.
func TestFindWithoutAFurtherProcess(t *testing.T) {
	handshake := fakeServer{
		"initialize": initializeResult, "ping": emptyResult,
		"tools/list": legacyToolsResult, "prompts/list": methodNotFound, "resources/list": methodNotFound,
	}
	with := func(discovered string) fakeServer {
		serves := maps.Clone(handshake)
		serves["server/discover"] = discovered
		return serves
	}
	owing := with(methodNotFound) // an answer, which might come after the greeting
	delete(owing, "resources/list")
	for _, tt := range []struct {
		name      string
		serves    fakeServer
		asked     string // empty: any revision
		revision  string // that is found
		processes int32
	}{
		{"both eras", with(discoverWithoutVersions), "", "2026-07-28", 1},
		{"both eras, asked for a revision", with(discoverWithoutVersions), "2025-11-25", "2025-11-25", 1},
		{"refuses it", with(methodNotFound), "", "2025-11-25", 1},
		{"dies of it", with("-"), "", "2025-11-25", 2},
		{"is silent about it", handshake, "", "2025-11-25", 2},
		{"refuses it, and owes an answer", owing, "", "2025-11-25", 2},
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
				f, err := Find(t.Context(), target, tt.asked, false)
				if err != nil || f.Server.Failure != "" || f.Unused != nil {
					t.Fatalf("got %+v, %v", f, err)
				}
				defer f.Close()
				if f.Server.Revision != tt.revision || !f.Session.IsOrdinary() || f.Session.HasInvalidInput() {
					t.Errorf("the session is not of use: it has agreed to %q", f.Session.Revision)
				}
				if n := started.Load(); n != tt.processes {
					t.Errorf("%d processes, want %d", n, tt.processes)
				}
			})
		})
	}
}
