//go:build unix

package reporters

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// browser is a headless Chromium that is controlled by the Chrome DevTools Protocol over a pipe. This needs only JSON
// with a null byte after each message. A driver such as chromedp would add seven modules for everyone who uses this
// module.
type browser struct {
	t       *testing.T
	out     io.Writer
	in      *bufio.Reader
	id      int
	session string
	// events are those of the page since it was opened.
	events []event
}

// event is an event or a response of Chromium.
type event struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// startBrowser starts a Chromium that ends with the test.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium here; .ci/browser installs it and runs this test")
	}
	theirIn, out := pipe(t)
	in, theirOut := pipe(t)
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
		"--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // the descriptors 3 and 4 of the process
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, out: out, in: bufio.NewReader(in)}
	t.Cleanup(func() {
		b.session = ""
		b.send("Browser.close", nil)
		if err := cmd.Wait(); err != nil {
			t.Log(err)
		}
	})
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// send sends a command.
func (b *browser) send(method string, params any) {
	b.id++
	command := map[string]any{"id": b.id, "method": method}
	if params != nil {
		command["params"] = params
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	text, err := json.Marshal(command)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.out.Write(append(text, 0)); err != nil {
		b.t.Error(err)
	}
}

// readEvent returns the next message of Chromium. It stores events.
func (b *browser) readEvent() (e event) {
	b.t.Helper()
	text, err := b.in.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &e)
	}
	if err != nil {
		b.t.Fatalf("chromium: %v", err)
	}
	if e.Method != "" {
		b.events = append(b.events, e)
	}
	return e
}

// call sends a command, waits for its response and decodes its result.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.send(method, params)
	for {
		e := b.readEvent()
		if e.ID != b.id {
			continue
		}
		if e.Error != nil {
			b.t.Fatalf("%s: %s", method, e.Error)
		}
		if result != nil {
			if err := json.Unmarshal(e.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// m is a JSON object.
type m = map[string]any

// attach opens a tab and subscribes to its console messages, errors and requests.
func (b *browser) attach() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", m{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", m{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	b.call("Performance.enable", m{"timeDomain": "threadTicks"}, nil)
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
}

// open loads a page. Its URL gets the fragment, if any.
func (b *browser) open(path, fragment string) {
	b.t.Helper()
	b.call("Page.navigate", m{"url": "about:blank"}, nil)
	b.events = nil
	address := url.URL{Scheme: "file", Path: path, Fragment: fragment}
	b.call("Page.navigate", m{"url": address.String()}, nil)
	for loaded := false; !loaded; {
		var state string
		b.eval("document.readyState + document.title", &state)
		loaded = len(state) > len("complete") && state[:8] == "complete"
	}
}

// eval evaluates an expression in the page, and awaits it if it is a promise.
func (b *browser) eval(expression string, result any) {
	b.t.Helper()
	var reply struct {
		Result    struct{ Value json.RawMessage }
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", m{"expression": expression, "returnByValue": true, "awaitPromise": true}, &reply)
	if reply.Exception != nil {
		b.t.Fatalf("%.200s: %s", expression, reply.Exception)
	}
	if result != nil {
		if err := json.Unmarshal(reply.Result.Value, result); err != nil {
			b.t.Fatalf("%.200s: %s: %v", expression, reply.Result.Value, err)
		}
	}
}

// expect checks the value of an expression.
func (b *browser) expect(expression string, want any) {
	b.t.Helper()
	var got any
	b.eval(expression, &got)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("%s: want %v, got %v", expression, want, got)
	}
}

// press presses a key in the page.
func (b *browser) press(key, text string) {
	b.t.Helper()
	down := m{"type": "keyDown", "key": key, "code": key}
	if text != "" {
		down["text"] = text
	}
	if key == "Enter" {
		down["windowsVirtualKeyCode"] = 13
	}
	b.call("Input.dispatchKeyEvent", down, nil)
	b.call("Input.dispatchKeyEvent", m{"type": "keyUp", "key": key, "code": key}, nil)
}

// checkQuiet checks that the page has written nothing to the console, has had no errors, and has made no request but
// the one for itself.
func (b *browser) checkQuiet() {
	b.t.Helper()
	for _, e := range b.events {
		switch e.Method {
		case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
			b.t.Errorf("%s: %s", e.Method, e.Params)
		case "Network.requestWillBeSent":
			var sent struct {
				Type    string
				Request struct{ URL string }
			}
			if err := json.Unmarshal(e.Params, &sent); err != nil || sent.Type != "Document" {
				b.t.Errorf("the page requests %.200s", sent.Request.URL)
			}
		}
	}
}

// threadSeconds returns the CPU time of the page's main thread in seconds.
func (b *browser) threadSeconds() float64 {
	b.t.Helper()
	var reply struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	b.call("Performance.getMetrics", nil, &reply)
	for _, metric := range reply.Metrics {
		if metric.Name == "TaskDuration" {
			return metric.Value
		}
	}
	b.t.Fatal("chromium does not measure it")
	return 0
}

// screenshot stores a picture of the page if MCPCHECK_SCREENSHOTS names a directory.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("MCPCHECK_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", m{"format": "png"}, &shot)
	if err := os.WriteFile(filepath.Join(dir, name+".png"), shot.Data, 0o644); err != nil {
		b.t.Error(err)
	}
}

// pageFile writes a report as a page and returns its path.
func pageFile(t *testing.T, write reportWriter) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(f, fullReport()), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}
