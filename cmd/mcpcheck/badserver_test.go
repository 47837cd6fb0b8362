package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
)

// object is a JSON object.
type object = map[string]any

// badServerMain is a program that scripts start: the misbehaving server that its first argument names.
func badServerMain() {
	addLoad(1, 0)
	time.AfterFunc(scriptTimeout, func() { os.Exit(9) }) // ends processes that a failed test has left
	if len(os.Args) < 2 {
		os.Exit(9)
	}
	os.Exit(runBadServer(os.Args[1], os.Args[2:]))
}

// runBadServer runs the misbehaving server with a name.
func runBadServer(name string, args []string) int {
	if be, ok := badServers()[name]; ok {
		return be(args)
	}
	fmt.Fprintln(os.Stderr, "badserver: no such mode:", name)
	return 9
}

// badServers are the misbehaving servers that mcpcheck must handle, by name. Each gets the arguments after its name and
// returns its exit status.
func badServers() map[string]func(args []string) int {
	return map[string]func(args []string) int{
		// These do not start.
		"exit-3":       exitAtStart,
		"quit":         exitWith,
		"never-answer": func([]string) int { return readToEnd() },
		"never-read":   func([]string) int { return sleepForever() },
		"late":         serveAfterFile,
		"refuse": func([]string) int {
			return serve(fixtures.Fault{Reply: changeReply("initialize", makeError)})
		},
		"kill-itself":   killItself,
		"close-stdout":  closeStdout,
		"print-forever": func([]string) int { return printForever() },

		// These write lines that are not messages.
		"banner": func(args []string) int {
			fmt.Println(append(args, "Server is running on stdio")[0])
			return serve(fixtures.Fault{})
		},
		"asking":       func(args []string) int { fmt.Print(args[0]); return readToEnd() },
		"banner-only":  func([]string) int { fmt.Println("Listening on http://localhost:3000"); return readToEnd() },
		"garbage":      func([]string) int { os.Stdout.Write(binaryOutput); return serve(fixtures.Fault{}) },
		"garbage-only": func([]string) int { os.Stdout.Write(binaryOutput); return readToEnd() },
		"endless-line": func([]string) int { return printEndlessLine() },
		"endless-answer": func([]string) int {
			return serve(fixtures.Fault{Request: insteadOfRequest("ping", func() { printEndlessLine() })})
		},

		// These write messages in another encoding, or something else.
		"writing":   serveChanged,
		"buffering": serveBuffered,
		"headers":   serveWithHeaders,
		"oldest":    serveOldVersion,
		"to-stderr": serveOnStderr,
		"saying":    printLines,
		"usage":     printUsage,
		"echo":      echoInput,

		// These write too much.
		"flood-stderr":  floodStderr,
		"flood-stdout":  floodStdout,
		"flood-listen":  floodSubscription,
		"long":          serveLongResults,
		"ask-forbidden": func([]string) int { return serve(fixtures.Fault{Notification: sendUndeclaredRequests}) },
		"reply-twice":   func([]string) int { return serve(fixtures.Fault{Send: duplicateLine}) },
		"bare": func([]string) int {
			return serve(fixtures.Fault{Reply: changeReply("initialize", func(reply object) {
				reply["result"].(object)["capabilities"] = object{}
			})})
		},
		"choosy":    serveFailingTool,
		"in-order":  serveMembersInOrder,
		"wrong-ids": func([]string) int { return serve(fixtures.Fault{Reply: replyWrongID}) },
		"wrong-id":  func([]string) int { return serve(fixtures.Fault{Reply: changeReply("initialize", setWrongID)}) },
		"leak":      serveSecrets,

		// These end early or stop responding.
		"die-after":    crashAfter,
		"stop-reading": stopReading,
		"slow":         blockToolsList,
		"tardy":        serveSlowly,
		"mute-tool": func(args []string) int {
			return serve(fixtures.Fault{Request: insteadOfValidCall(args, func() {})})
		},
		"block":  func([]string) int { return serve(fixtures.Fault{Receive: blockOnCall(sleepForever)}) },
		"linger": serveSlowCalls,

		// These do not exit when they should.
		"deaf":          func([]string) int { return ignoreTermination() },
		"grandchild":    func(args []string) int { return startBackgroundProcess(false, args) },
		"daemon":        func(args []string) int { return startBackgroundProcess(true, args) },
		"hold":          func([]string) int { signal.Ignore(syscall.SIGTERM); return sleepForever() },
		"behind":        runAsChild,
		"where":         printWorkingDir,
		"touch":         serveAndCreateFile,
		"old":           serveOldest,
		"change-itself": failSecondStart,

		// These are servers over HTTP.
		"web": badHTTPServer,
	}
}

// serveMembersInOrder answers without a version of JSON-RPC, once it has received a request with its method after its
// params.
func serveMembersInOrder([]string) int {
	return serve(fixtures.Fault{
		Receive: func(c *fixtures.Conn, line []byte) []byte {
			if at := bytes.Index(line, []byte(`"params":`)); at >= 0 && at < bytes.Index(line, []byte(`"method":`)) {
				c.Increment("disordered")
			}
			return line
		},
		Reply: func(c *fixtures.Conn, _, reply object) {
			if c.Count("disordered") > 0 {
				delete(reply, "jsonrpc")
			}
		},
	})
}

// serveFailingTool lists a tool that always fails, and another one for clients with sampling.
func serveFailingTool([]string) int {
	var samples atomic.Bool
	tool := func(name string) object {
		return object{
			"name": name, "annotations": object{"readOnlyHint": true},
			"inputSchema": object{"type": "object", "properties": object{"id": object{"const": "x"}}},
		}
	}
	return fixtures.Serve(context.Background(), fixtures.Stdio{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Revision: "2025-11-25",
	}, fixtures.Fault{Reply: func(_ *fixtures.Conn, req, reply object) {
		switch req["method"] {
		case "initialize":
			capabilities, _ := req["params"].(object)["capabilities"].(object)
			samples.Store(capabilities["sampling"] != nil)
		case "tools/list":
			tools := []any{tool("fetch")}
			if samples.Load() {
				tools = append(tools, tool("summarize"))
			}
			reply["result"] = object{"tools": tools}
		case "tools/call":
			delete(reply, "error")
			reply["result"] = object{"isError": true, "content": []any{object{"type": "text", "text": "no such id"}}}
		}
	}})
}

// exitWith writes lines to stderr and exits with a status.
func exitWith(args []string) int {
	fmt.Fprintln(os.Stderr, strings.Join(args[1:], "\n"))
	status, _ := strconv.Atoi(args[0])
	return status
}

// binaryOutput is what a program may write that uses stdout as a log.
var binaryOutput = []byte("\x00\x01\xff\xfe\x1b[2J\x07\x80garbage\n\xde\xad\xbe\xef\n")

// serve is the conforming server with a fault, for clients that initialize.
func serve(f fixtures.Fault) int {
	inner := f.Request
	f.Request = func(c *fixtures.Conn, req object) bool {
		if req["method"] == "server/discover" {
			c.Write(fixtures.ErrorResponse(req["id"], -32601, "Method not found"))
			return true
		}
		return inner != nil && inner(c, req)
	}
	return serveOver(os.Stdin, &lockedWriter{w: os.Stdout}, f)
}

func serveOver(in io.Reader, out io.Writer, f fixtures.Fault) int {
	return fixtures.Serve(context.Background(), fixtures.Stdio{In: in, Out: out, Err: os.Stderr}, f)
}

// lockedWriter serializes the writes of several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func sleepForever() int {
	time.Sleep(time.Hour)
	return 0
}

// readToEnd reads until stdin ends.
func readToEnd() int {
	io.Copy(io.Discard, os.Stdin)
	return 0
}

func exitAtStart([]string) int {
	fmt.Fprintln(os.Stderr, "reading configuration")
	fmt.Fprintln(os.Stderr, "fatal: DATABASE_URL is not set")
	return 3
}

// serveAfterFile waits for a file before it serves.
func serveAfterFile(args []string) int {
	for !fileExists(args[0]) {
		time.Sleep(10 * time.Millisecond)
	}
	return serve(fixtures.Fault{})
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func killItself([]string) int {
	fmt.Fprintln(os.Stderr, "out of memory")
	self, _ := os.FindProcess(os.Getpid())
	self.Kill()
	return sleepForever()
}

func closeStdout([]string) int {
	os.Stdout.Close()
	return readToEnd()
}

func printForever() int {
	flood(os.Stdout, "still starting …\n")
	return 1
}

func printEndlessLine() int {
	chunk := bytes.Repeat([]byte("all work and no play "), 3000)
	for {
		if _, err := os.Stdout.Write(chunk); err != nil {
			return 1
		}
	}
}

// insteadOfRequest returns a hook that does something else than serve the requests of a method.
func insteadOfRequest(method string, do func()) func(*fixtures.Conn, object) bool {
	return func(_ *fixtures.Conn, req object) bool {
		if req["method"] == method {
			do()
		}
		return req["method"] == method
	}
}

// changeReply returns a hook that changes the responses to a method.
func changeReply(method string, change func(reply object)) func(*fixtures.Conn, object, object) {
	return func(_ *fixtures.Conn, req, reply object) {
		if req["method"] == method {
			change(reply)
		}
	}
}

func makeError(reply object) {
	delete(reply, "result")
	reply["error"] = object{"code": -32603, "message": "licence expired"}
}

func setWrongID(reply object) { reply["id"] = 4711 }

func replyWrongID(_ *fixtures.Conn, req, reply object) {
	if req["method"] != "initialize" {
		setWrongID(reply)
	}
}

func floodStderr([]string) int {
	go flood(os.Stderr, "DEBUG: "+strings.Repeat("nothing happened again, ", 12)+"as ever\n")
	return serve(fixtures.Fault{})
}

// floodStdout sends notifications without end once the session is open.
func floodStdout([]string) int {
	out := &lockedWriter{w: os.Stdout}
	var once sync.Once
	return serveOver(os.Stdin, out, fixtures.Fault{Notification: func(*fixtures.Conn, string) {
		once.Do(func() {
			const again = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"again"}}`
			go flood(out, again+"\n")
		})
	}})
}

// floodSubscription sends notifications without end that the tools have changed, to the first subscriber.
func floodSubscription([]string) int {
	return serveOver(os.Stdin, &floodingWriter{lockedWriter: lockedWriter{w: os.Stdout}}, fixtures.Fault{})
}

// floodingWriter floods the subscription that is acknowledged first.
type floodingWriter struct {
	lockedWriter
	once sync.Once
}

func (a *floodingWriter) Write(p []byte) (int, error) {
	n, err := a.lockedWriter.Write(p)
	v, _ := fixtures.Decode(bytes.TrimSpace(p))
	msg, _ := v.(object)
	params, _ := msg["params"].(object)
	if msg["method"] == "notifications/subscriptions/acknowledged" {
		change := object{
			"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": object{"_meta": params["_meta"]},
		}
		content, _ := json.Marshal(change)
		a.once.Do(func() { go flood(&a.lockedWriter, string(content)+"\n") })
	}
	return n, err
}

// flood writes a text without end: as fast as possible until it is more than mcpcheck may keep, and then slowly, to
// save CPU time.
func flood(out io.Writer, content string) {
	chunk := []byte(strings.Repeat(content, 100))
	for written, texts := 0, 0; ; written, texts = written+len(chunk), texts+100 {
		if written > floodBytes || texts > floodTexts {
			time.Sleep(10 * time.Millisecond)
		}
		if _, err := out.Write(chunk); err != nil {
			return
		}
	}
}

// With so many bytes or texts, which take half a kilobyte each in memory, mcpcheck would exceed the memory that scripts
// allow.
const (
	floodBytes = 64 << 20
	floodTexts = 200_000
)

// sendUndeclaredRequests sends requests that need capabilities which the client has not declared.
func sendUndeclaredRequests(_ *fixtures.Conn, method string) {
	if method == "notifications/initialized" {
		fmt.Println(
			`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`,
		)
		fmt.Println(
			`{"jsonrpc":"2.0","id":"s2","method":"elicitation/create","params":{"message":"?",` +
				`"requestedSchema":{"type":"object","properties":{}}}}`,
		)
	}
}

func duplicateLine(_ *fixtures.Conn, line []byte) []byte { return slices.Concat(line, line) }

// serveSecrets writes the value of TOKEN wherever a server can.
func serveSecrets(args []string) int {
	token := strings.Join(strings.Fields(os.Getenv("TOKEN")+" "+os.Getenv("SERVICE_API_KEY")+" "+lastText(args)), " ")
	fmt.Fprintln(os.Stderr, "starting with token", token)
	fmt.Println("token:", token)
	return serve(fixtures.Fault{Reply: func(_ *fixtures.Conn, req, reply object) {
		result, _ := reply["result"].(object)
		switch req["method"] {
		case "initialize":
			result["serverInfo"] = object{"name": "server of " + token, "version": token}
			result["capabilities"].(object)[token] = object{}
		case "tools/list":
			for _, tool := range result["tools"].([]any) {
				tool.(object)["name"] = "tool of " + token
			}
		default:
			makeError(reply)
			reply["error"].(object)["message"] = "bad token " + token
		}
	}})
}

// lastText returns the last of several texts.
func lastText(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// crashAfter exits at the nth request after the handshake, which its argument counts; with the argument trace it writes
// a stack trace, as Go programs do.
func crashAfter(args []string) int {
	var n atomic.Int64
	var most int64
	fmt.Sscan(args[0], &most)
	return serve(fixtures.Fault{Request: func(_ *fixtures.Conn, req object) bool {
		if req["method"] != "initialize" && n.Add(1) > most {
			fmt.Fprintln(os.Stderr, "panic: index out of range")
			if lastText(args) == "trace" {
				fmt.Fprint(os.Stderr, "\ngoroutine 7 [running]:\nmain.call(0x3)\n\t/src/server.go:42 +0x1d\n\n")
				fmt.Fprint(os.Stderr, strings.Repeat("rax    0x0\n", 30))
			}
			os.Exit(7)
		}
		return false
	}})
}

// stopReading stops reading its input once the session is open.
func stopReading([]string) int {
	return serve(fixtures.Fault{Notification: func(*fixtures.Conn, string) { sleepForever() }})
}

// blockToolsList creates a file when it receives tools/list, and never answers it; with a second argument, only in that
// revision.
func blockToolsList(args []string) int {
	revision := ""
	return serve(fixtures.Fault{Request: func(_ *fixtures.Conn, req object) bool {
		if params, _ := req["params"].(object); req["method"] == "initialize" {
			revision, _ = params["protocolVersion"].(string)
		}
		if req["method"] == "tools/list" && (len(args) == 1 || args[1] == revision) {
			os.WriteFile(args[0], nil, 0o644)
			sleepForever()
		}
		return false
	}})
}

// insteadOfValidCall returns a hook that does something else than serve calls with valid arguments, of the named tools
// or of all.
func insteadOfValidCall(tools []string, do func()) func(*fixtures.Conn, object) bool {
	return func(_ *fixtures.Conn, req object) bool {
		params, _ := req["params"].(object)
		meta, _ := params["_meta"].(object)
		token, _ := meta["progressToken"].(string)
		asks := func(tool string) bool { return strings.HasPrefix(token, "mcpcheck-"+tool+"-") }
		valid := len(tools) == 0 && strings.HasPrefix(token, "mcpcheck-") || slices.ContainsFunc(tools, asks)
		if valid {
			do()
		}
		return valid
	}
}

// blockOnCall returns a hook that reads nothing while a tool with valid arguments works.
func blockOnCall(work func() int) func(*fixtures.Conn, []byte) []byte {
	return func(_ *fixtures.Conn, line []byte) []byte {
		if bytes.Contains(line, []byte(`"mcpcheck-now-`)) {
			work()
		}
		return line
	}
}

// serveSlowCalls serves one request at a time; each valid call takes as long as its argument says.
func serveSlowCalls(args []string) int {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return 9
	}
	return serve(fixtures.Fault{Receive: blockOnCall(func() int { time.Sleep(d); return 0 })})
}

// ignoreTermination ignores the end of stdin and SIGTERM.
func ignoreTermination() int {
	signal.Ignore(syscall.SIGTERM)
	return serve(fixtures.Fault{EOF: func(*fixtures.Conn) int { return sleepForever() }})
}

// startBackgroundProcess starts a process that inherits the streams and does not exit, and then runs the server that
// its argument names, or a conforming one.
func startBackgroundProcess(daemon bool, args []string) int {
	child := selfCommand("hold")
	if daemon {
		child.SysProcAttr = detachedProcAttr()
	}
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	if len(args) > 0 {
		return runBadServer(args[0], args[1:])
	}
	return serve(fixtures.Fault{})
}

// runAsChild runs another misbehaving server as its child, as npx does, and ignores SIGTERM.
func runAsChild(args []string) int {
	signal.Ignore(syscall.SIGTERM)
	child := selfCommand(args...)
	if err := child.Run(); child.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	return child.ProcessState.ExitCode()
}

func selfCommand(args ...string) *exec.Cmd {
	self, _ := os.Executable()
	child := exec.Command(self, args...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	return child
}

// printWorkingDir writes its working directory to stderr and exits.
func printWorkingDir([]string) int {
	dir, _ := os.Getwd()
	fmt.Fprintln(os.Stderr, "started in", dir)
	return 5
}

// serveAndCreateFile creates a file when it starts.
func serveAndCreateFile(args []string) int {
	os.WriteFile(args[0], nil, 0o644)
	return serve(fixtures.Fault{})
}

// serveOldest supports only the first revision.
func serveOldest([]string) int { return serveOnly(fixtures.Revisions[0]) }

// serveOnly is the conforming server of one revision.
func serveOnly(revision string) int {
	streams := fixtures.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Revision: revision}
	return fixtures.Serve(context.Background(), streams, fixtures.Fault{})
}

// failSecondStart starts once, and fails to start again, also while the first one runs.
func failSecondStart(args []string) int {
	mark, err := os.OpenFile(args[0], os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return exitAtStart(nil)
	}
	mark.Close()
	return serveOnly("2025-11-25")
}
