package discovery

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestSilentAfterTheHandshake checks that a server that is silent after the handshake is not taken for one that runs
// one process at a time. It must not cost more time than the first responses and the wait for server/discover.
func TestSilentAfterTheHandshake(t *testing.T) {
	silent := driver.Target{Serve: fakeServer{"initialize": initializeResult}.serve}
	for name, ask := range map[string]func(context.Context) (Found, error){
		"auto": func(ctx context.Context) (Found, error) { return Find(ctx, silent, "", true) },
		"in":   func(ctx context.Context) (Found, error) { return Find(ctx, silent, "2025-11-25", true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				f, err := ask(t.Context())
				took := time.Since(begin)
				if err != nil || !f.Server.SilentAfterConnect || f.Server.OneClient || took > 16*time.Second {
					t.Errorf("got %+v, %v after %v", f.Server, err, took)
				}
				f.Close()
			})
		})
	}
}

// initializeWithTools is the result of initialize of a server that has tools.
const initializeWithTools = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
	`"serverInfo":{"name":"o"}}`

// TestEndsAfterTheHandshake checks that a server whose processes all end right after the handshake is not taken for one
// that starts only once.
func TestEndsAfterTheHandshake(t *testing.T) {
	const want = "the server exited with status 1 at the first request after the handshake"
	for _, discover := range []string{methodNotFound, `"error":{"code":-32600,"message":"not initialized"}`, "-"} {
		ends := driver.Target{Serve: fakeServer{
			"initialize": initializeWithTools, "server/discover": discover, "notifications/initialized": "-",
		}.serve}
		for name, ask := range map[string]func(context.Context) (Found, error){
			"auto": func(ctx context.Context) (Found, error) { return Find(ctx, ends, "", true) },
			"in":   func(ctx context.Context) (Found, error) { return Find(ctx, ends, "2025-11-25", true) },
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f, err := ask(t.Context())
					if err == nil || err.Error() != want {
						t.Errorf("%s: got %v", discover, err)
					}
					f.Close()
				})
			})
		}
	}
}

// TestListUnanswered checks that a server that hangs at a list request is not taken for one that runs one process at a
// time.
func TestListUnanswered(t *testing.T) {
	const early = `"error":{"code":-32600,"message":"not initialized"}`
	answers := fakeServer{"initialize": initializeWithTools, "ping": `"result":{}`, "server/discover": early}
	hangs := driver.Target{Serve: func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
		for d := json.NewDecoder(in); ; {
			var msg driver.M
			if d.Decode(&msg) != nil {
				return 0
			}
			if msg["method"] == "tools/list" {
				io.Copy(io.Discard, in)
				return 0
			}
			io.WriteString(out, answers.reply(msg))
		}
	}}
	for name, ask := range map[string]func(context.Context) (Found, error){
		"auto": func(ctx context.Context) (Found, error) { return Find(ctx, hangs, "", true) },
		"in":   func(ctx context.Context) (Found, error) { return Find(ctx, hangs, "2025-11-25", true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := ask(t.Context())
				if err != nil || f.Server.OneClient {
					t.Errorf("got %+v, %v", f.Server, err)
				}
				f.Close()
			})
		})
	}
}
