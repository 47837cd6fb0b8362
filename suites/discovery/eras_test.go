package discovery

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// These are further responses of servers of both eras.
const (
	unsupportedLegacy = `"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],` +
		`"requested":"2025-11-25"}}`
	unsupportedModern = `"error":{"code":-32022,"message":"no","data":{"supported":["2099-01-02"],` +
		`"requested":"2026-07-28"}}`
	emptyResult = `"result":{}`
)

// findCase is a server, with what Find and Revisions must return for it.
type findCase struct {
	name   string
	serves fakeServer
	// revision is the one by which the server is judged.
	revision string
	// supported holds the revisions that are known to be supported.
	supported []string
	// revisions is what Revisions returns.
	revisions []string
	hasUnused bool
	// failure is the beginning of Server.Failure.
	failure string
	// err is a part of the error.
	err string

	discoverError string
}

var (
	bothRevisions = []string{"2025-11-25", "2026-07-28"}
	legacyOnly    = []string{"2025-11-25"}
	modernOnly    = []string{"2026-07-28"}
	allLegacy     = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
	allRevisions  = append(slices.Clone(allLegacy), "2026-07-28")
)

// findCases are servers of both eras, and of one of them.
var findCases = []findCase{
	{
		name: "both eras",
		serves: fakeServer{"server/discover": discoverWithoutVersions, "initialize": initializeResult,
			"ping": emptyResult, "tools/list": toolsResult},
		revision: "2026-07-28", supported: bothRevisions, revisions: allRevisions,
	},
	{
		name: "handshake",
		serves: fakeServer{
			"server/discover": methodNotFound, "initialize": initializeResult, "ping": emptyResult,
			"tools/list": methodNotFound, "prompts/list": methodNotFound, "resources/list": methodNotFound,
		},
		revision: "2025-11-25", supported: legacyOnly, revisions: allLegacy, hasUnused: true,
	},
	{
		name: "modern, and says so",
		serves: fakeServer{"server/discover": discoverResult, "initialize": unsupportedLegacy,
			"tools/list": toolsResult},
		revision: "2026-07-28", supported: bothRevisions, revisions: modernOnly,
	},
	{
		name: "modern, and knows no initialize",
		serves: fakeServer{"server/discover": discoverWithoutVersions, "initialize": methodNotFound,
			"tools/list": toolsResult},
		revision: "2026-07-28", supported: modernOnly, revisions: modernOnly,
	},
	{
		name: "both, the handshake badly",
		serves: fakeServer{
			"server/discover": discoverResult, "initialize": `"result":{"protocolVersion":7}`,
			"tools/list": toolsResult,
		},
		revision: "2026-07-28", supported: bothRevisions, revisions: allRevisions,
	},
	{
		name: "both, server/discover badly",
		serves: fakeServer{
			"server/discover": headerMismatch, "initialize": initializeResult, "ping": emptyResult,
			"tools/list": toolsResult,
		},
		revision: "2025-11-25", supported: legacyOnly, revisions: allLegacy, hasUnused: true,
		discoverError: "error -32020: no",
	},
	{
		name: "both, server/discover not at all",
		serves: fakeServer{
			"server/discover": methodNotFound, "initialize": initializeResult, "ping": emptyResult,
			"tools/list": `"result":{"resultType":"complete","tools":[]}`,
		},
		revision: "2025-11-25", supported: legacyOnly, revisions: allLegacy, hasUnused: true,
		discoverError: "error -32601: Method not found",
	},
	{
		name: "handshake, and fails at server/discover",
		serves: fakeServer{
			"server/discover": `"error":{"code":-32603,"message":"Internal error"}`,
			"initialize":      initializeResult, "ping": emptyResult,
			"tools/list": methodNotFound, "prompts/list": methodNotFound, "resources/list": methodNotFound,
		},
		revision: "2025-11-25", supported: legacyOnly, revisions: allLegacy, hasUnused: true,
		discoverError: "error -32603: Internal error",
	},
	{
		name: "handshake, with a result for server/discover that is none",
		serves: fakeServer{
			"server/discover": `"result":["2026-07-28"]`, "initialize": initializeResult, "ping": emptyResult,
			"tools/list": methodNotFound, "prompts/list": methodNotFound, "resources/list": methodNotFound,
		},
		revision: "2025-11-25", supported: legacyOnly, revisions: allLegacy, hasUnused: true,
		discoverError: `result ["2026-07-28"]`,
	},
	{
		name: "handshake, with an empty result for what it does not know",
		serves: fakeServer{"server/discover": emptyResult, "initialize": initializeResult, "ping": emptyResult,
			"tools/list": emptyResult, "prompts/list": emptyResult, "resources/list": emptyResult},
		revision: "2025-11-25", supported: legacyOnly, revisions: allLegacy, hasUnused: true,
	},
	{
		name: "handshake, with another refusal of server/discover",
		serves: fakeServer{
			"server/discover": `"error":{"code":-32602,"message":"no"}`, "initialize": initializeResult,
			"ping":       emptyResult,
			"tools/list": methodNotFound, "prompts/list": methodNotFound, "resources/list": methodNotFound,
		},
		revision: "2025-11-25", supported: legacyOnly, revisions: allLegacy, hasUnused: true,
	},
	{
		name: "both, server/discover refuses what it offers",
		serves: fakeServer{
			"server/discover": unsupportedLegacy, "initialize": initializeResult, "ping": emptyResult,
			"tools/list": toolsResult,
		},
		revision: "2025-11-25", supported: legacyOnly, revisions: allLegacy, hasUnused: true,
		discoverError: "error -32022: no",
	},
	{
		name:     "a later revision alone",
		serves:   fakeServer{"server/discover": unsupportedModern, "initialize": unsupportedModern},
		revision: "2026-07-28", revisions: modernOnly,
		err: "does not speak 2026-07-28: server/discover offers 2099-01-02",
	},
	{
		name:     "neither",
		serves:   fakeServer{"server/discover": methodNotFound, "initialize": methodNotFound},
		revision: "2025-11-25", revisions: allLegacy, failure: "initialize was answered with error -32601",
	},
}

// findStdioCases are servers that leave a request unanswered, or exit at one.
var findStdioCases = []findCase{
	{
		name:     "handshake, silent before it",
		serves:   fakeServer{"initialize": initializeResult, "ping": emptyResult},
		revision: "2025-11-25", supported: legacyOnly, revisions: allLegacy, hasUnused: true,
	},
	{
		name:     "handshake, exits before it",
		serves:   fakeServer{"server/discover": "-", "initialize": initializeResult, "ping": emptyResult},
		revision: "2025-11-25", supported: legacyOnly, revisions: allLegacy, hasUnused: true,
	},
	{
		name:     "modern, initialize unanswered",
		serves:   fakeServer{"server/discover": discoverWithoutVersions, "tools/list": toolsResult},
		revision: "2026-07-28", supported: modernOnly, revisions: modernOnly, hasUnused: true,
	},
	{
		name:     "modern, exits at initialize",
		serves:   fakeServer{"server/discover": discoverWithoutVersions, "initialize": "-", "tools/list": toolsResult},
		revision: "2026-07-28", supported: modernOnly, revisions: modernOnly, hasUnused: true,
	},
	{
		name:     "silent",
		serves:   fakeServer{},
		revision: "2025-11-25", revisions: allLegacy, err: "no answer to initialize within 15s (--start-timeout)",
	},
	{
		name:     "exits at any request",
		serves:   fakeServer{"server/discover": "-", "initialize": "-"},
		revision: "2025-11-25", revisions: allLegacy, err: "the server exited with status 1",
	},
	{
		name: "modern, server/discover unanswered",
		serves: fakeServer{"initialize": unsupportedLegacy,
			"tools/list": `"result":{"resultType":"complete","tools":[]}`},
		revision: "2026-07-28", revisions: modernOnly, err: "no answer to server/discover within 15s (--start-timeout)",
	},
}

// want checks the result of Find.
func (w findCase) want(t *testing.T, f Found, err error) {
	t.Helper()
	switch {
	case f.Server == nil:
		t.Fatal(err)
	case w.err == "" && err != nil, w.err != "" && (err == nil || !strings.Contains(err.Error(), w.err)):
		t.Errorf("got the error %v, want %q", err, w.err)
	}
	if !strings.HasPrefix(f.Server.Failure, w.failure) || w.failure == "" && f.Server.Failure != "" {
		t.Errorf("got the failure %q, want %q", f.Server.Failure, w.failure)
	}
	if f.Server.Revision != w.revision || !slices.Equal(f.Server.Revisions, w.supported) {
		t.Errorf("judged by %s of %q, want %s of %q", f.Server.Revision, f.Server.Revisions, w.revision, w.supported)
	}
	if f.Server.DiscoverError != w.discoverError {
		t.Errorf("the discover error is %q, want %q", f.Server.DiscoverError, w.discoverError)
	}
	usable := w.err == "" && w.failure == ""
	if usable && (!f.Session.IsOrdinary() || f.Session.HasInvalidInput() || f.Session.Revision != w.revision) {
		t.Errorf("the first session is not usable: it has negotiated %q", f.Session.Revision)
	}
	if (f.Unused != nil) != w.hasUnused {
		t.Errorf("an unused session: %v, want %v", f.Unused != nil, w.hasUnused)
	}
	if f.Unused == nil {
		return
	}
	if f.Unused.NegotiatedRevision() != w.revision || !f.Unused.IsOrdinary() || f.Unused.HasInvalidInput() {
		t.Errorf("the unused session is not usable: it has negotiated %q", f.Unused.NegotiatedRevision())
	}
}

// run checks both Find and Revisions.
func (w findCase) run(t *testing.T, target driver.Target) {
	t.Helper()
	f, err := Find(t.Context(), target, "", true)
	w.want(t, f, err)
	f.Close()
	all, undiscovered, err := Revisions(t.Context(), target)
	if err != nil || !slices.Equal(all, w.revisions) || undiscovered != w.discoverError {
		t.Errorf("got %q, %q, %v, want %q, %q", all, undiscovered, err, w.revisions, w.discoverError)
	}
}

func TestFind(t *testing.T) {
	for _, tt := range append(findCases, findStdioCases...) {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tt.run(t, driver.Target{Serve: tt.serves.serve}) })
		})
	}
}

func TestFindOverHTTP(t *testing.T) {
	for _, tt := range findCases {
		tt.hasUnused = false // Find keeps none over HTTP
		t.Run(tt.name, func(t *testing.T) { tt.run(t, httpTarget(t, tt.serves)) })
	}
}

// TestFindTimeouts checks that a server of one era costs no more than two seconds if it is silent in the other, and one
// further process if it exits.
func TestFindTimeouts(t *testing.T) {
	for _, tt := range slices.Concat(findStdioCases[:4], findStdioCases[5:6]) {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var started atomic.Int32
				target := driver.Target{Serve: func(
					ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{},
				) int {
					started.Add(1)
					return tt.serves.serve(ctx, in, out, errs, term)
				}}
				begin := time.Now()
				f, err := Find(t.Context(), target, "", true)
				took := time.Since(begin)
				if (err != nil) != (tt.err != "") || took > 3*time.Second || started.Load() > 3 {
					t.Errorf("it took %v and %d processes: %v", took, started.Load(), err)
				}
				f.Close()
			})
		})
	}
}

// singleProcessServer returns a server that allows one process at a time. The first turn is that of the process whose
// first line contains first. The others wait for their turn, or exit.
func singleProcessServer(serves fakeServer, first string, wait bool) driver.InProcessServer {
	turn, began := make(chan struct{}, 1), make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		lines := bufio.NewReader(in)
		firstLine, _ := lines.ReadBytes('\n')
		if !bytes.Contains(firstLine, []byte(first)) {
			<-began
		}
		select {
		case turn <- struct{}{}:
			begin()
		default:
			if !wait {
				return 2
			}
			select {
			case turn <- struct{}{}:
			case <-ctx.Done():
				return 1
			}
		}
		defer func() { <-turn }()
		return serves.serve(ctx, io.MultiReader(bytes.NewReader(firstLine), lines), out, errs, term)
	}
}

// TestFindWithOneProcess checks that the result for a server that allows one process at a time does not depend on which
// process has the first turn.
func TestFindWithOneProcess(t *testing.T) {
	for _, first := range []string{"initialize", "server/discover"} {
		for _, tt := range append(findCases[:4:4], findStdioCases[:4]...) {
			t.Run(tt.name+", the others exit, first "+first, func(t *testing.T) {
				tt.runSingleProcess(t, first, false)
			})
		}
		for _, tt := range findCases[:4] {
			t.Run(tt.name+", the others wait, first "+first, func(t *testing.T) {
				tt.runSingleProcess(t, first, true)
			})
		}
	}
}

// runSingleProcess checks a server that allows one process at a time.
func (w findCase) runSingleProcess(t *testing.T, first string, wait bool) {
	w.hasUnused = false
	synctest.Test(t, func(t *testing.T) {
		w.run(t, driver.Target{Serve: singleProcessServer(w.serves, first, wait)})
	})
	synctest.Test(t, func(t *testing.T) {
		f, _ := Find(t.Context(), driver.Target{Serve: singleProcessServer(w.serves, first, wait)}, "", true)
		wantSingleProcess(t, f)
	})
}

// wantSingleProcess checks that the server is known to allow one process at a time.
func wantSingleProcess(t *testing.T, f Found) {
	t.Helper()
	if !f.Server.OneClient || !f.Session.IsAlive() || f.Unused != nil {
		t.Errorf("the server is not known to allow one process at a time: %+v", f.Server)
	}
	f.Close()
}

// TestServerThatStartsOnce checks that the error for a server that starts only once says so, whichever process was the
// first, and whichever era is requested.
func TestServerThatStartsOnce(t *testing.T) {
	const want = "no session could be opened after the first one, as if the server could run only once: " +
		"the server exited"
	once := func(first string) driver.Target {
		var started atomic.Int32
		return driver.Target{Serve: func(
			ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{},
		) int {
			lines := bufio.NewReader(in)
			firstLine, _ := lines.ReadBytes('\n')
			if !bytes.Contains(firstLine, []byte(first)) || !started.CompareAndSwap(0, 1) {
				return 2
			}
			in = io.MultiReader(bytes.NewReader(firstLine), lines)
			return findCases[1].serves.serve(ctx, in, out, errs, term)
		}}
	}
	for _, first := range []string{"initialize", "server/discover"} {
		synctest.Test(t, func(t *testing.T) {
			_, err := Find(t.Context(), once(first), "", true)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("first %s: got %v", first, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := Find(t.Context(), once(""), "2025-11-25", true)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v", err)
		}
	})
	for _, revision := range bothRevisions { // the only process was started in advance
		synctest.Test(t, func(t *testing.T) {
			target := driver.Target{Serve: prestartedOnlyServer()}
			_, err := Find(t.Context(), target, revision, true)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: got %v", revision, err)
			}
		})
	}
}

// prestartedOnlyServer returns a server that serves only the process that was started in advance, the second one to get
// a request. The order in which two processes start is not defined.
func prestartedOnlyServer() driver.InProcessServer {
	var asked atomic.Int32
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		lines := bufio.NewReader(in)
		firstLine, _ := lines.ReadBytes('\n')
		if asked.Add(1) != 2 {
			return 2
		}
		in = io.MultiReader(bytes.NewReader(firstLine), lines)
		return findCases[1].serves.serve(ctx, in, out, errs, term)
	}
}

// TestFindARevisionWithOneProcess checks that a server is known to allow one process at a time also when one revision
// is requested.
func TestFindARevisionWithOneProcess(t *testing.T) {
	for name, wait := range map[string]bool{"the others wait": true, "the others exit": false} {
		for _, revision := range bothRevisions {
			t.Run(revision+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					target := driver.Target{Serve: singleProcessServer(findCases[0].serves, "", wait)}
					begin := time.Now()
					f, err := Find(t.Context(), target, revision, true)
					if took := time.Since(begin); err != nil || f.Server.Revision != revision || took > 3*time.Second {
						t.Errorf("got %+v, %v after %v", f.Server, err, took)
					}
					wantSingleProcess(t, f)
				})
			})
		}
	}
}

// TestFindARevisionWithManyProcesses checks that there is an unused session of a server that allows several processes.
func TestFindARevisionWithManyProcesses(t *testing.T) {
	for _, revision := range bothRevisions {
		synctest.Test(t, func(t *testing.T) {
			f, err := Find(t.Context(), driver.Target{Serve: findCases[0].serves.serve}, revision, true)
			if err != nil || f.Server.OneClient || !f.Session.IsOrdinary() || f.Unused == nil ||
				!f.Unused.IsOrdinary() {
				t.Errorf("got %+v, %v", f.Server, err)
			}
			f.Close()
		})
	}
}

// newestProcessServer returns a server of which each new process ends the previous one.
func newestProcessServer(serves fakeServer) driver.InProcessServer {
	var last atomic.Pointer[context.CancelFunc]
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		ctx, end := context.WithCancel(ctx)
		defer end()
		if before := last.Swap(&end); before != nil {
			(*before)()
		}
		done := make(chan int, 1)
		go func() { done <- serves.serve(ctx, in, contextWriter{ctx, out}, errs, term) }()
		select {
		case status := <-done:
			return status
		case <-ctx.Done():
			return 1
		}
	}
}

// contextWriter is the output of a process, which ends with its context.
type contextWriter struct {
	context.Context
	io.Writer
}

func (w contextWriter) Write(p []byte) (int, error) {
	if err := w.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// TestFindWithTheNewestProcess checks that a server of which each new process ends the previous one is probed one
// process at a time.
func TestFindWithTheNewestProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := findCases[1]
		f, err := Find(t.Context(), driver.Target{Serve: newestProcessServer(w.serves)}, "", true)
		if err != nil || f.Server.Revision != w.revision || !f.Session.IsAlive() {
			t.Errorf("got %+v, %v", f.Server, err)
		}
		f.Close()
	})
}

// TestFindWithSecondProcess checks that a process that is blocked by the second one is probed again.
func TestFindWithSecondProcess(t *testing.T) {
	serves := findCases[0].serves
	for name, serve := range map[string]func() driver.InProcessServer{
		"the new process ends the old one": func() driver.InProcessServer { return newestProcessServer(serves) },
		"the first to start, the others exit": func() driver.InProcessServer {
			return firstProcessServer(serves,
				false)
		},
		"the first to start, the others wait": func() driver.InProcessServer {
			return firstProcessServer(serves,
				true)
		},
		"the second to start, the first one exits": func() driver.InProcessServer { return exceptFirstServer(serves) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := Find(t.Context(), driver.Target{Serve: serve()}, "2025-11-25", true)
				if err != nil || f.Server.Failure != "" || !f.Session.IsAlive() {
					t.Fatalf("got %+v, %v", f.Server, err)
				}
				if name != "the second to start, the first one exits" {
					wantSingleProcess(t, f)
				}
				f.Close()
			})
		})
	}
}

// firstProcessServer returns a server that allows one process at a time, the first to start. The others wait or exit.
func firstProcessServer(serves fakeServer, wait bool) driver.InProcessServer {
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		select {
		case turn <- struct{}{}:
		default:
			if !wait {
				return 2
			}
			select {
			case turn <- struct{}{}:
			case <-ctx.Done():
				return 1
			}
		}
		defer func() { <-turn }()
		return serves.serve(ctx, in, out, errs, term)
	}
}

// exceptFirstServer returns a server whose first process exits at its first request.
func exceptFirstServer(serves fakeServer) driver.InProcessServer {
	var started atomic.Int32
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		lines := bufio.NewReader(in)
		firstLine, _ := lines.ReadBytes('\n')
		if len(firstLine) > 0 && started.Add(1) == 1 {
			return 2
		}
		return serves.serve(ctx, io.MultiReader(bytes.NewReader(firstLine), lines), out, errs, term)
	}
}

// TestFindStartsBothAtOnce checks that two processes of a server that starts slowly start at the same time.
func TestFindStartsBothAtOnce(t *testing.T) {
	for _, revision := range bothRevisions {
		synctest.Test(t, func(t *testing.T) {
			const start = time.Second
			target := driver.Target{Serve: func(
				ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{},
			) int {
				time.Sleep(start)
				return findCases[0].serves.serve(ctx, in, out, errs, term)
			}}
			begin := time.Now()
			f, err := Find(t.Context(), target, revision, true)
			if took := time.Since(begin); err != nil || f.Unused == nil || took >= 2*start {
				t.Errorf("got %+v, %v after %v", f, err, took)
			}
			f.Close()
		})
	}
}
