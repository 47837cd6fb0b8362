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

// More answers of servers of both eras.
const (
	onlyNewer = `"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}`
	onlyLater = `"error":{"code":-32022,"message":"no","data":{"supported":["2099-01-02"],"requested":"2026-07-28"}}`
	pong      = `"result":{}`
)

// found is what a test wants to be found.
type found struct {
	name     string
	serves   script
	revision string   // by which the server is judged
	speaks   []string // that is known
	all      []string // that Revisions says
	spare    bool
	failure  string // the beginning
	err      string // a part

	undiscovered string
}

var (
	both     = []string{"2025-11-25", "2026-07-28"}
	onlyOld  = []string{"2025-11-25"}
	onlyNew  = []string{"2026-07-28"}
	allOlder = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
	allBoth  = append(slices.Clone(allOlder), "2026-07-28")
)

// askedBothWays are servers of both eras, and of either.
var askedBothWays = []found{
	{
		name:     "both eras",
		serves:   script{"server/discover": unlisted, "initialize": welcome, "ping": pong, "tools/list": tools},
		revision: "2026-07-28", speaks: both, all: allBoth,
	},
	{
		name: "handshake",
		serves: script{
			"server/discover": notFound, "initialize": welcome, "ping": pong,
			"tools/list": notFound, "prompts/list": notFound, "resources/list": notFound,
		},
		revision: "2025-11-25", speaks: onlyOld, all: allOlder, spare: true,
	},
	{
		name:     "modern, and says so",
		serves:   script{"server/discover": discovered, "initialize": onlyNewer, "tools/list": tools},
		revision: "2026-07-28", speaks: both, all: onlyNew,
	},
	{
		name:     "modern, and knows no initialize",
		serves:   script{"server/discover": unlisted, "initialize": notFound, "tools/list": tools},
		revision: "2026-07-28", speaks: onlyNew, all: onlyNew,
	},
	{
		name: "both, the handshake badly",
		serves: script{
			"server/discover": discovered, "initialize": `"result":{"protocolVersion":7}`, "tools/list": tools,
		},
		revision: "2026-07-28", speaks: both, all: allBoth,
	},
	{
		name: "both, server/discover badly",
		serves: script{
			"server/discover": mismatch, "initialize": welcome, "ping": pong, "tools/list": tools,
		},
		revision: "2025-11-25", speaks: onlyOld, all: allOlder, spare: true, undiscovered: "error -32020: no",
	},
	{
		name: "both, server/discover not at all",
		serves: script{
			"server/discover": notFound, "initialize": welcome, "ping": pong,
			"tools/list": `"result":{"resultType":"complete","tools":[]}`,
		},
		revision: "2025-11-25", speaks: onlyOld, all: allOlder, spare: true,
		undiscovered: "error -32601: Method not found",
	},
	{
		name: "handshake, and fails at server/discover",
		serves: script{
			"server/discover": `"error":{"code":-32603,"message":"Internal error"}`,
			"initialize":      welcome, "ping": pong,
			"tools/list": notFound, "prompts/list": notFound, "resources/list": notFound,
		},
		revision: "2025-11-25", speaks: onlyOld, all: allOlder, spare: true,
		undiscovered: "error -32603: Internal error",
	},
	{
		name: "handshake, with a result for server/discover that is none",
		serves: script{
			"server/discover": `"result":["2026-07-28"]`, "initialize": welcome, "ping": pong,
			"tools/list": notFound, "prompts/list": notFound, "resources/list": notFound,
		},
		revision: "2025-11-25", speaks: onlyOld, all: allOlder, spare: true,
		undiscovered: `result ["2026-07-28"]`,
	},
	{
		name: "handshake, with an empty result for what it does not know",
		serves: script{"server/discover": pong, "initialize": welcome, "ping": pong,
			"tools/list": pong, "prompts/list": pong, "resources/list": pong},
		revision: "2025-11-25", speaks: onlyOld, all: allOlder, spare: true,
	},
	{
		name: "handshake, with another refusal of server/discover",
		serves: script{
			"server/discover": `"error":{"code":-32602,"message":"no"}`, "initialize": welcome, "ping": pong,
			"tools/list": notFound, "prompts/list": notFound, "resources/list": notFound,
		},
		revision: "2025-11-25", speaks: onlyOld, all: allOlder, spare: true,
	},
	{
		name: "both, server/discover refuses what it offers",
		serves: script{
			"server/discover": onlyNewer, "initialize": welcome, "ping": pong, "tools/list": tools,
		},
		revision: "2025-11-25", speaks: onlyOld, all: allOlder, spare: true, undiscovered: "error -32022: no",
	},
	{
		name:     "a later revision alone",
		serves:   script{"server/discover": onlyLater, "initialize": onlyLater},
		revision: "2026-07-28", all: onlyNew, err: "does not speak 2026-07-28: server/discover offers 2099-01-02",
	},
	{
		name:     "neither",
		serves:   script{"server/discover": notFound, "initialize": notFound},
		revision: "2025-11-25", all: allOlder, failure: "initialize was answered with error -32601",
	},
}

// askedOverStdio are those that leave something unanswered, or die of it.
var askedOverStdio = []found{
	{
		name:     "handshake, silent before it",
		serves:   script{"initialize": welcome, "ping": pong},
		revision: "2025-11-25", speaks: onlyOld, all: allOlder, spare: true,
	},
	{
		name:     "handshake, dies before it",
		serves:   script{"server/discover": "-", "initialize": welcome, "ping": pong},
		revision: "2025-11-25", speaks: onlyOld, all: allOlder, spare: true,
	},
	{
		name:     "modern, silent about initialize",
		serves:   script{"server/discover": unlisted, "tools/list": tools},
		revision: "2026-07-28", speaks: onlyNew, all: onlyNew, spare: true,
	},
	{
		name:     "modern, dies of initialize",
		serves:   script{"server/discover": unlisted, "initialize": "-", "tools/list": tools},
		revision: "2026-07-28", speaks: onlyNew, all: onlyNew, spare: true,
	},
	{
		name:     "silent",
		serves:   script{},
		revision: "2025-11-25", all: allOlder, err: "no answer to initialize within 15s (--start-timeout)",
	},
	{
		name:     "dies of anything",
		serves:   script{"server/discover": "-", "initialize": "-"},
		revision: "2025-11-25", all: allOlder, err: "the server exited with status 1",
	},
	{
		name:     "modern, silent about server/discover",
		serves:   script{"initialize": onlyNewer, "tools/list": `"result":{"resultType":"complete","tools":[]}`},
		revision: "2026-07-28", all: onlyNew, err: "no answer to server/discover within 15s (--start-timeout)",
	},
}

// want wants what was found to be as the test says.
func (w found) want(t *testing.T, f Found, err error) {
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
	if f.Server.Revision != w.revision || !slices.Equal(f.Server.Speaks, w.speaks) {
		t.Errorf("judged by %s of %q, want %s of %q", f.Server.Revision, f.Server.Speaks, w.revision, w.speaks)
	}
	if f.Server.Undiscovered != w.undiscovered {
		t.Errorf("not discovered for %q, want %q", f.Server.Undiscovered, w.undiscovered)
	}
	usable := w.err == "" && w.failure == ""
	if usable && (!f.First.Ordinary() || f.First.IsHostile() || f.First.Revision != w.revision) {
		t.Errorf("the first session is not of use: it has agreed to %q", f.First.Revision)
	}
	if (f.Spare != nil) != w.spare {
		t.Errorf("a spare session: %v, want %v", f.Spare != nil, w.spare)
	}
	if f.Spare == nil {
		return
	}
	if f.Spare.Agreed() != w.revision || !f.Spare.Ordinary() || f.Spare.IsHostile() {
		t.Errorf("the spare session is not of use: it has agreed to %q", f.Spare.Agreed())
	}
}

// asked asks a server both ways.
func (w found) asked(t *testing.T, target driver.Target) {
	t.Helper()
	f, err := Find(t.Context(), target, "", true)
	w.want(t, f, err)
	f.Close()
	all, undiscovered, err := Revisions(t.Context(), target)
	if err != nil || !slices.Equal(all, w.all) || undiscovered != w.undiscovered {
		t.Errorf("got %q, %q, %v, want %q, %q", all, undiscovered, err, w.all, w.undiscovered)
	}
}

func TestFind(t *testing.T) {
	for _, tt := range append(askedBothWays, askedOverStdio...) {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tt.asked(t, driver.Target{Serve: tt.serves.serve}) })
		})
	}
}

func TestFindOverHTTP(t *testing.T) {
	for _, tt := range askedBothWays {
		tt.spare = false // a session costs nothing
		t.Run(tt.name, func(t *testing.T) { tt.asked(t, at(t, tt.serves)) })
	}
}

// A process of one era that is silent in the other costs no more than two seconds; one that dies of it costs a further
// process, which others use.
func TestFindWaitsForNobody(t *testing.T) {
	for _, tt := range slices.Concat(askedOverStdio[:4], askedOverStdio[5:6]) {
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

// oneAtATime is a server that allows one process at a time, and gives the first turn to the one that is greeted so. The
// others wait for their turn, or die.
func oneAtATime(serves script, first string, wait bool) driver.Server {
	turn, began := make(chan struct{}, 1), make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		lines := bufio.NewReader(in)
		greeting, _ := lines.ReadBytes('\n')
		if !bytes.Contains(greeting, []byte(first)) {
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
		return serves.serve(ctx, io.MultiReader(bytes.NewReader(greeting), lines), out, errs, term)
	}
}

// What is said of a server that allows one process at a time does not depend on which of them has the first turn.
func TestFindWithOneProcess(t *testing.T) {
	for _, first := range []string{"initialize", "server/discover"} {
		for _, tt := range append(askedBothWays[:4:4], askedOverStdio[:4]...) {
			t.Run(tt.name+", the others die, first "+first, func(t *testing.T) {
				tt.askedInLine(t, first, false)
			})
		}
		for _, tt := range askedBothWays[:4] {
			t.Run(tt.name+", the others wait, first "+first, func(t *testing.T) {
				tt.askedInLine(t, first, true)
			})
		}
	}
}

// askedInLine asks a server both ways that allows one process at a time.
func (w found) askedInLine(t *testing.T, first string, wait bool) {
	w.spare = false
	synctest.Test(t, func(t *testing.T) {
		w.asked(t, driver.Target{Serve: oneAtATime(w.serves, first, wait)})
	})
	synctest.Test(t, func(t *testing.T) {
		f, _ := Find(t.Context(), driver.Target{Serve: oneAtATime(w.serves, first, wait)}, "", true)
		wantInLine(t, f)
	})
}

// wantInLine wants it to be known that there is one process at a time.
func wantInLine(t *testing.T, f Found) {
	t.Helper()
	if !f.Server.OneClient || !f.First.Alive() || f.Spare != nil {
		t.Errorf("it is not known that there is one at a time: %+v", f.Server)
	}
	f.Close()
}

// A server that starts once only is named so, whichever process was the first, and whichever era is asked for.
func TestServerThatStartsOnce(t *testing.T) {
	const want = "no session could be opened after the first one, as if the server could run only once: " +
		"the server exited"
	once := func(first string) driver.Target {
		var started atomic.Int32
		return driver.Target{Serve: func(
			ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{},
		) int {
			lines := bufio.NewReader(in)
			greeting, _ := lines.ReadBytes('\n')
			if !bytes.Contains(greeting, []byte(first)) || !started.CompareAndSwap(0, 1) {
				return 2
			}
			in = io.MultiReader(bytes.NewReader(greeting), lines)
			return askedBothWays[1].serves.serve(ctx, in, out, errs, term)
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
	for _, revision := range both { // the process that was started ahead is the one
		synctest.Test(t, func(t *testing.T) {
			target := driver.Target{Serve: onlyAhead()}
			_, err := Find(t.Context(), target, revision, true)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: got %v", revision, err)
			}
		})
	}
}

// onlyAhead is a server of which the process that is started ahead serves, and no other: the second that is asked
// something. Which of two that are started together runs first, nobody knows.
func onlyAhead() driver.Server {
	var asked atomic.Int32
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		lines := bufio.NewReader(in)
		greeting, _ := lines.ReadBytes('\n')
		if asked.Add(1) != 2 {
			return 2
		}
		in = io.MultiReader(bytes.NewReader(greeting), lines)
		return askedBothWays[1].serves.serve(ctx, in, out, errs, term)
	}
}

// It is known as well when one revision is asked for.
func TestFindARevisionWithOneProcess(t *testing.T) {
	for name, wait := range map[string]bool{"the others wait": true, "the others die": false} {
		for _, revision := range both {
			t.Run(revision+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					target := driver.Target{Serve: oneAtATime(askedBothWays[0].serves, "", wait)}
					begin := time.Now()
					f, err := Find(t.Context(), target, revision, true)
					if took := time.Since(begin); err != nil || f.Server.Revision != revision || took > 3*time.Second {
						t.Errorf("got %+v, %v after %v", f.Server, err, took)
					}
					wantInLine(t, f)
				})
			})
		}
	}
}

// A server that runs any number has a further session for others to use.
func TestFindARevisionWithManyProcesses(t *testing.T) {
	for _, revision := range both {
		synctest.Test(t, func(t *testing.T) {
			f, err := Find(t.Context(), driver.Target{Serve: askedBothWays[0].serves.serve}, revision, true)
			if err != nil || f.Server.OneClient || !f.First.Ordinary() || f.Spare == nil || !f.Spare.Ordinary() {
				t.Errorf("got %+v, %v", f.Server, err)
			}
			f.Close()
		})
	}
}

// newestOnly is a server whose new process ends the old one.
func newestOnly(serves script) driver.Server {
	var last atomic.Pointer[context.CancelFunc]
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		ctx, end := context.WithCancel(ctx)
		defer end()
		if before := last.Swap(&end); before != nil {
			(*before)()
		}
		done := make(chan int, 1)
		go func() { done <- serves.serve(ctx, in, untilEnd{ctx, out}, errs, term) }()
		select {
		case status := <-done:
			return status
		case <-ctx.Done():
			return 1
		}
	}
}

// untilEnd is what a process writes before its end.
type untilEnd struct {
	context.Context
	io.Writer
}

func (w untilEnd) Write(p []byte) (int, error) {
	if err := w.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// A server whose new process ends the old one is asked in line as well.
func TestFindWithTheNewestProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := askedBothWays[1]
		f, err := Find(t.Context(), driver.Target{Serve: newestOnly(w.serves)}, "", true)
		if err != nil || f.Server.Revision != w.revision || !f.First.Alive() {
			t.Errorf("got %+v, %v", f.Server, err)
		}
		f.Close()
	})
}

// The process that starts beside the one that is asked first may be in its way: then that one is asked once more.
func TestFindBesideAnother(t *testing.T) {
	serves := askedBothWays[0].serves
	for name, serve := range map[string]func() driver.Server{
		"the new process ends the old one":        func() driver.Server { return newestOnly(serves) },
		"the first to start, the others die":      func() driver.Server { return firstToStart(serves, false) },
		"the first to start, the others wait":     func() driver.Server { return firstToStart(serves, true) },
		"the second to start, the first one dies": func() driver.Server { return butFirst(serves) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := Find(t.Context(), driver.Target{Serve: serve()}, "2025-11-25", true)
				if err != nil || f.Server.Failure != "" || !f.First.Alive() {
					t.Fatalf("got %+v, %v", f.Server, err)
				}
				if name != "the second to start, the first one dies" {
					wantInLine(t, f)
				}
				f.Close()
			})
		})
	}
}

// firstToStart is a server that allows one process at a time, whatever is said to it: the others wait or die.
func firstToStart(serves script, wait bool) driver.Server {
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

// butFirst is a server whose first process dies.
func butFirst(serves script) driver.Server {
	var started atomic.Int32
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		lines := bufio.NewReader(in)
		greeting, _ := lines.ReadBytes('\n')
		if len(greeting) > 0 && started.Add(1) == 1 {
			return 2
		}
		return serves.serve(ctx, io.MultiReader(bytes.NewReader(greeting), lines), out, errs, term)
	}
}

// A server that takes its time to start takes it once: its two processes start side by side.
func TestFindStartsBothAtOnce(t *testing.T) {
	for _, revision := range both {
		synctest.Test(t, func(t *testing.T) {
			const start = time.Second
			target := driver.Target{Serve: func(
				ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{},
			) int {
				time.Sleep(start)
				return askedBothWays[0].serves.serve(ctx, in, out, errs, term)
			}}
			begin := time.Now()
			f, err := Find(t.Context(), target, revision, true)
			if took := time.Since(begin); err != nil || f.Spare == nil || took >= 2*start {
				t.Errorf("got %+v, %v after %v", f, err, took)
			}
			f.Close()
		})
	}
}
