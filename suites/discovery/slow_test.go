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

// slowAtMessage returns a server of both eras that waits before it reads a message with that text.
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

// TestRevisionsOfSlowEra checks that Revisions does not leave out an era in which a server is slow.
func TestRevisionsOfSlowEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, _, err := Revisions(t.Context(), driver.Target{Serve: slowAtMessage("server/discover", 3*time.Second)})
		if err != nil || !slices.Equal(all, allRevisions) {
			t.Errorf("got %q, %v", all, err)
		}
	})
}

// TestFindSlowConnect checks that the era by which a server is judged does not change if it is slow in one of them.
func TestFindSlowConnect(t *testing.T) {
	for _, method := range []string{"initialize", "server/discover"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := driver.Target{Serve: slowAtMessage(`"`+method+`"`, 1500*time.Millisecond)}
				f, err := Find(t.Context(), target, "", true)
				if err != nil || f.Server.Revision != preferredRevision {
					t.Errorf("judged by %s, %v", f.Server.Revision, err)
				}
				f.Close()
			})
		})
	}
}

// TestFindSlowLists checks that Find waits for a slow server that has proved to support the revision, so that its lists
// are complete.
func TestFindSlowLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := Find(t.Context(), driver.Target{Serve: slowAtMessage("2026-07-28", 1500*time.Millisecond)}, "", true)
		if err != nil || f.Server.Revision != preferredRevision || len(f.Server.Tools) == 0 || !f.Session.IsAlive() {
			t.Errorf("judged by %s with the tools %v: %v", f.Server.Revision, f.Server.Tools, err)
		}
		f.Close()
	})
}

// TestFindSlowToStart checks that the result for a server that starts slowly, so that the second process is probed
// before the first one has answered, is that for a server that answers at once.
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

// slowToStart returns a server that takes some time to start.
func slowToStart(d time.Duration, serve driver.InProcessServer) driver.InProcessServer {
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		time.Sleep(d)
		return serve(ctx, in, out, errs, term)
	}
}

// TestFindOneSlowerToStart checks that the era by which a server is judged does not change if one of its processes
// takes up to three times longer to start than the other.
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
