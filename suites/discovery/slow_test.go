package discovery

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// slowAtMessage is a server of both eras that reads no message with that text before some time has passed.
func slowAtMessage(text string, after time.Duration) driver.InProcessServer {
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		slow, lines := io.Pipe()
		go func() {
			for scanner := bufio.NewScanner(in); scanner.Scan(); {
				if bytes.Contains(scanner.Bytes(), []byte(text)) {
					time.Sleep(after)
				}
				lines.Write(append(scanner.Bytes(), '\n'))
			}
			lines.Close()
		}()
		return findCases[0].serves.serve(ctx, slow, out, errs, term)
	}
}

// When all revisions are wanted, an era in which a server is slow is not left out.
func TestRevisionsOfSlowEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, _, err := Revisions(t.Context(), driver.Target{Serve: slowAtMessage("server/discover", 3*time.Second)})
		if err != nil || !slices.Equal(all, allRevisions) {
			t.Errorf("got %q, %v", all, err)
		}
	})
}

// The era by which a server is judged is the same when it is slow in one of them.
func TestFindSlowConnect(t *testing.T) {
	for _, greeting := range []string{"initialize", "server/discover"} {
		t.Run(greeting, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := driver.Target{Serve: slowAtMessage(`"`+greeting+`"`, 1500*time.Millisecond)}
				f, err := Find(t.Context(), target, "", true)
				if err != nil || f.Server.Revision != preferredRevision {
					t.Errorf("judged by %s, %v", f.Server.Revision, err)
				}
				f.Close()
			})
		})
	}
}

// A server that is slow in the era by which it is judged is waited for once it is shown to speak it: what it lists is
// not cut short.
func TestFindSlowLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := Find(t.Context(), driver.Target{Serve: slowAtMessage("2026-07-28", 1500*time.Millisecond)}, "", true)
		if err != nil || f.Server.Revision != preferredRevision || len(f.Server.Tools) == 0 || !f.Session.IsAlive() {
			t.Errorf("judged by %s with the tools %v: %v", f.Server.Revision, f.Server.Tools, err)
		}
		f.Close()
	})
}

// What is found of a server that takes its time to start, so that the second process is asked before the first one has
// answered, is what is found of one that answers at once.
func TestFindSlowToStart(t *testing.T) {
	for _, tt := range slices.Concat(findCases, findStdioCases[:4]) {
		for _, start := range []time.Duration{time.Second, 4 * time.Second} {
			t.Run(tt.name+", "+start.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tt.run(t, driver.Target{Serve: slowToStart(start, tt.serves.serve)})
				})
			})
		}
	}
}

// slowToStart is a server that takes some time to start.
func slowToStart(d time.Duration, serve driver.InProcessServer) driver.InProcessServer {
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		time.Sleep(d)
		return serve(ctx, in, out, errs, term)
	}
}

// The era by which a server is judged is the same when one of its processes takes longer to start than the other one,
// by less than three times.
func TestFindOneSlowerToStart(t *testing.T) {
	for name, slow := range map[string]int32{"the first": 1, "the second": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var started atomic.Int32
				fast := findCases[0].serves.serve
				late := slowToStart(1500*time.Millisecond, fast)
				f, err := Find(t.Context(), driver.Target{Serve: func(
					ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{},
				) int {
					time.Sleep(time.Second)
					if started.Add(1) == slow {
						return late(ctx, in, out, errs, term)
					}
					return fast(ctx, in, out, errs, term)
				}}, "", true)
				if err != nil || f.Server.Revision != preferredRevision {
					t.Errorf("judged by %s, %v", f.Server.Revision, err)
				}
				f.Close()
			})
		})
	}
}
