package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Stdio implements the transport over standard streams: each session has its own process, and messages are lines.
// Session.Stdio returns it for what only this transport can do.
type Stdio struct {
	s    *Session
	proc *process
	// queue holds the pieces of messages that wait to be written.
	queue chan [][]byte
	// stopped is closed by stop, when nothing more is to be sent.
	stopped chan struct{}
	stop    func()
	// readDone is closed when the server can send nothing more.
	readDone  chan struct{}
	closeOnce sync.Once

	// unsentOnce records once that messages are no longer sent.
	unsentOnce sync.Once
}

// startProcess starts the target and sends nothing to it.
func startProcess(ctx context.Context, t Target, o Options) (*Session, error) {
	proc, err := launch(ctx, t, o)
	if err != nil {
		return nil, err
	}
	s := newSession(ctx, t, collectStderr(proc.stderr, t.Limits.MaxStderrBytes))
	s.StderrDiscarded = o.DiscardStderr
	p := &Stdio{
		s: s, proc: proc,
		queue: make(chan [][]byte, maxQueued), stopped: make(chan struct{}), readDone: make(chan struct{}),
	}
	p.stop = sync.OnceFunc(func() { close(p.stopped) })
	s.transport = p
	go p.write()
	go p.read()
	go p.closeAfterExit()
	return s, nil
}

// closeAfterExit stops writing when the process has ended, and reading soon after, because a child of the process may
// still hold its stdout.
func (p *Stdio) closeAfterExit() {
	<-p.proc.exited
	p.proc.stdin.Close()
	if !closesWithin(context.Background(), p.readDone, 500*time.Millisecond) {
		p.s.addEvent("a process that the server started still holds its stdout")
		p.proc.kill()
		closeReader(p.proc.stdout)
	}
}

// maxQueued is how many messages may wait to be written, so that a server that does not read cannot block mcpcheck.
const maxQueued = 1 << 10

// errQueueFull is a LimitError, because the server cannot answer what mcpcheck did not send.
var errQueueFull = &LimitError{fmt.Sprintf("the server leaves more than %d messages unread", maxQueued)}

var errStdinClosed = errors.New("stdin is closed")

// send queues a message. A message that will not be written is not recorded.
func (p *Stdio) send(f *Frame, pieces [][]byte) {
	var why error
	select {
	case <-p.stopped:
		why = errStdinClosed
	default:
		if len(p.queue) == cap(p.queue) {
			why = errQueueFull
		}
	}
	if why != nil {
		p.unsentOnce.Do(func() { p.s.addEvent("messages of the client were not sent: " + why.Error()) })
		p.s.setLimitErr(AsLimitError(why))
		return
	}
	for _, m := range f.requests() {
		p.s.noteRequest(m.ID)
	}
	p.s.add(f)
	select {
	case p.queue <- pieces:
	case <-p.stopped:
	case <-p.proc.exited:
	}
}

// write writes the queued messages until stop was called or the process has ended.
func (p *Stdio) write() {
	defer p.proc.stdin.Close()
	defer p.stop()
	for {
		select {
		case pieces := <-p.queue:
			if p.writePieces(pieces) != nil {
				return
			}
		case <-p.proc.exited:
			return
		case <-p.stopped:
			for len(p.queue) > 0 && p.writePieces(<-p.queue) == nil {
			}
			return
		}
	}
}

func (p *Stdio) writePieces(pieces [][]byte) error {
	for i, piece := range pieces {
		if i > 0 {
			time.Sleep(timing.PieceInterval)
		}
		if _, err := p.proc.stdin.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// read records the lines on stdout until it ends, and then why it ended.
func (p *Stdio) read() {
	defer close(p.readDone)
	p.recordEnd(p.readLines())
}

// readLines reads until stdout ends. why is the reason if it stops before: a line that is too long, whose beginning is
// recorded, or an echo.
func (p *Stdio) readLines() (why error) {
	const beginning = 4 << 10
	s := p.s
	reading := &readQuota{record: &s.record, partial: &s.partial}
	defer reading.release()
	chunk := make([]byte, 64<<10)
	var line bytes.Buffer
	for {
		n, err := p.proc.stdout.Read(chunk)
		for rest := chunk[:n]; len(rest) > 0; {
			head, tail, found := cutLine(rest)
			if !reading.grow(len(head)) {
				begun := bytes.Clone(line.Next(beginning))
				s.add(&Frame{Side: FromServer, Raw: begun})
				return s.limits.tooLong("the server wrote a line of")
			}
			line.Write(head)
			rest = tail
			if found {
				if err := p.receive(&Frame{Raw: drain(&line), Complete: true}); err != nil {
					return err
				}
				reading.release()
			}
		}
		reading.notePartial(line.Len())
		if err != nil {
			if line.Len() > 0 {
				return p.receive(&Frame{Raw: drain(&line)})
			}
			return nil
		}
	}
}

// cutLine returns the text up to the first newline, and the text after it. What ends with a NUL byte in place of it, as
// strings do in C, is a line as well: it has that byte, so that it is not JSON.
func cutLine(text []byte) (line, rest []byte, found bool) {
	line, rest, found = bytes.Cut(text, []byte{'\n'})
	if i := bytes.IndexByte(line, 0); i > 0 && line[i-1] == '}' && (!found || i < len(line)-1) {
		return text[:i+1], text[i+1:], true
	}
	return line, rest, found
}

// errEcho ends the session of a server that prints what it reads: its echo cannot be told from its messages.
var errEcho = errors.New("the server sends back what it is sent")

// ByteOrderMark is what some writers of UTF-8 begin with. On stdout, which holds nothing but messages, it is a line of
// its own in the record.
const ByteOrderMark = "\ufeff"

// receive records a line. A request that only clients send to connect is an echo. A byte order mark before a message is
// recorded as a line of its own, so that the message after it is read.
func (p *Stdio) receive(f *Frame) error {
	if message, marked := bytes.CutPrefix(f.Raw, []byte(ByteOrderMark)); marked {
		p.s.add(&Frame{Side: FromServer, Raw: Text(ByteOrderMark), Complete: true})
		f.Raw = message
	}
	if f.parse(); f.Method == "initialize" || f.Method == "server/discover" {
		p.s.add(&Frame{Side: FromServer, Raw: f.Raw, Complete: f.Complete, Kind: Echo})
		return errEcho
	}
	p.s.receive(f)
	return nil
}

func (p *Stdio) recordEnd(why error) {
	cause := "the server closed its stdout but is still running"
	if why != nil {
		cause = why.Error()
		p.s.setLimitErr(AsLimitError(why))
		p.proc.kill()
	} else if closesWithin(context.Background(), p.proc.exited, time.Second) {
		cause = "the server " + p.proc.exit.String()
		p.s.stderr.awaitEnd()
	}
	p.s.endByServer(cause)
}

// awaitDelivery does nothing: lines are not acknowledged.
func (p *Stdio) awaitDelivery(int) {}

// closeInput lets the era end the session, and closes stdin.
func (p *Stdio) closeInput() { p.closeStdinAfter(func() { p.s.Era().closeSession(p.s) }) }

// isStarting reports whether the session has a process that has not sent anything yet.
func (s *Session) isStarting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	fromServer := func(f *Frame) bool { return f.Side == FromServer }
	return s.Stdio() != nil && !slices.ContainsFunc(s.frames, fromServer)
}

// CloseStdin closes the server's stdin, which is how a client ends a session over stdio.
func (p *Stdio) CloseStdin() { p.closeStdinAfter(func() {}) }

func (p *Stdio) closeStdinAfter(first func()) {
	p.closeOnce.Do(func() {
		first()
		p.s.addEvent("stdin closed")
		p.s.markShutdown()
		p.stop()
	})
}

func (p *Stdio) kill() { p.proc.kill() }

// close closes stdin, then sends SIGTERM, and then SIGKILL to the whole process group.
func (p *Stdio) close() {
	p.closeInput()
	if !p.s.IsUsable() {
		p.proc.kill()
	}
	if _, gone := p.AwaitExit(timing.ExitAfterStdin); !gone {
		p.proc.terminate()
		p.AwaitExit(p.s.limits.StopTimeout)
	}
	p.proc.kill()
	<-p.proc.exited
	p.closeStreams()
}

// closeStreams waits up to a second for the end of the streams and closes them. A process outside of the process group
// may still hold them.
func (p *Stdio) closeStreams() {
	if !closesWithin(context.Background(), p.readDone, time.Second) {
		closeReader(p.proc.stdout)
		<-p.readDone
	}
	closeReader(p.proc.stdout)
	closeReader(p.proc.stderr)
}

// Terminate sends SIGTERM to the server's process group.
func (p *Stdio) Terminate() {
	p.s.addEvent("SIGTERM sent")
	p.s.markShutdown() // later frames belong to the shutdown
	p.proc.terminate()
}

// AwaitExit waits for the end of the process, at most for d. It returns false if the process still runs.
func (p *Stdio) AwaitExit(d time.Duration) (Exit, bool) {
	end := time.Now().Add(d)
	if !closesWithin(p.s.ctx, p.proc.exited, d) {
		return Exit{}, false
	}
	closesWithin(context.Background(), p.readDone, time.Until(end)) // its last output
	return p.proc.exit, true
}

// Stderr returns the beginning of what the server wrote to stderr, and the number of bytes that it wrote in all. A
// recorded session has no process and returns nothing.
func (p *Stdio) Stderr() (head []byte, total int) {
	if p == nil {
		return nil, 0
	}
	return p.s.stderr.headBytes()
}

// PartialBytes returns the number of bytes received since the last newline.
func (p *Stdio) PartialBytes() int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.partial.bytes
}
