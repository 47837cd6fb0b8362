package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Stdio is the transport over standard streams: a process of its own for each session, and lines on its streams. It is
// had from Session.Stdio, with what only it can do.
type Stdio struct {
	s    *Session
	proc *process
	out  chan [][]byte // the pieces of messages that wait to be written
	bye  chan struct{} // closed by stop, once nothing more is to be sent
	stop func()
	done chan struct{} // closed once the server said its last word
	quit sync.Once

	unsent sync.Once // says that messages are not sent any more
}

// startProcess launches the target and says nothing to it.
func startProcess(ctx context.Context, t Target, o Options) (*Session, error) {
	proc, err := launch(ctx, t, o.MuteStderr)
	if err != nil {
		return nil, err
	}
	s := newSession(ctx, t, keepStderr(proc.stderr, t.Limits.Stderr))
	s.Muted = o.MuteStderr
	p := &Stdio{
		s: s, proc: proc,
		out: make(chan [][]byte, mostUnread), bye: make(chan struct{}), done: make(chan struct{}),
	}
	p.stop = sync.OnceFunc(func() { close(p.bye) })
	s.link = p
	go p.write()
	go p.read()
	go p.outlive()
	return s, nil
}

// outlive stops writing once the process has gone, and listening soon after, though something that it started may still
// hold its streams.
func (p *Stdio) outlive() {
	<-p.proc.exited
	p.proc.stdin.Close()
	timer := time.NewTimer(500 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.s.event("a process that the server started still holds its stdout")
		p.proc.kill()
		closeReader(p.proc.stdout)
	}
}

// mostUnread is how many messages may wait to be written: a server that does not read cannot block the harness.
const mostUnread = 1 << 12

// errUnread is an Excess: what mcpcheck did not send, no server can answer.
var errUnread = &Excess{fmt.Sprintf("the server leaves more than %d messages unread", mostUnread)}

var errStdinClosed = errors.New("stdin is closed")

// send queues a message. What is not going to be written does not stand in the record as said.
func (p *Stdio) send(f *Frame, pieces [][]byte) {
	var why error
	select {
	case <-p.bye:
		why = errStdinClosed
	default:
		if len(p.out) == cap(p.out) {
			why = errUnread
		}
	}
	if why != nil {
		p.unsent.Do(func() { p.s.event("messages of the client were not sent: " + why.Error()) })
		p.s.exceed(ExcessOf(why))
		return
	}
	for _, m := range f.Members() {
		if m.IsRequest() {
			p.s.ask(m.ID)
		}
	}
	p.s.put(f)
	select {
	case p.out <- pieces:
	case <-p.bye:
	case <-p.proc.exited:
	}
}

// write carries out what send queues, until nothing more is to be sent or the process has ended.
func (p *Stdio) write() {
	defer p.proc.stdin.Close()
	defer p.stop()
	for {
		select {
		case pieces := <-p.out:
			if p.writePieces(pieces) != nil {
				return
			}
		case <-p.proc.exited:
			return
		case <-p.bye:
			for len(p.out) > 0 && p.writePieces(<-p.out) == nil {
			}
			return
		}
	}
}

// pause is the time between the pieces of a message, for the server to read them one by one.
const pause = 20 * time.Millisecond

func (p *Stdio) writePieces(pieces [][]byte) error {
	for i, piece := range pieces {
		if i > 0 {
			time.Sleep(pause)
		}
		if _, err := p.proc.stdin.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// read splits stdout into lines until it ends, then finds out why it ended.
func (p *Stdio) read() {
	defer close(p.done)
	p.finish(p.readLines())
}

// readLines reads until stdout ends; why says what makes it useless to read on: a line that is too long, of which the
// beginning is kept, or one that is the client's own.
func (p *Stdio) readLines() (why error) {
	const beginning = 4 << 10
	s := p.s
	reading := &intake{r: &s.record, part: &s.partial}
	defer reading.finish()
	chunk := make([]byte, 64<<10)
	var line bytes.Buffer
	for {
		n, err := p.proc.stdout.Read(chunk)
		for rest := chunk[:n]; len(rest) > 0; {
			head, tail, found := bytes.Cut(rest, []byte{'\n'})
			if !reading.grow(len(head)) {
				begun := bytes.Clone(line.Next(beginning))
				s.put(&Frame{Side: FromServer, Raw: begun})
				return s.limits.tooLong("the server wrote a line of")
			}
			line.Write(head)
			rest = tail
			if found {
				if err := p.receive(&Frame{Raw: drain(&line), Ended: true}); err != nil {
					return err
				}
				reading.finish()
			}
		}
		reading.unended(line.Len())
		if err != nil {
			if line.Len() > 0 {
				return p.receive(&Frame{Raw: drain(&line)})
			}
			return nil
		}
	}
}

// errEcho is why a session ends whose server prints what it reads: what it prints cannot be told from what it says.
var errEcho = errors.New("the server sends back what it is sent")

// receive takes in a line. That of a client's greeting, which no server sends, is an echo.
func (p *Stdio) receive(f *Frame) error {
	if f.parse(); f.Method == "initialize" || f.Method == "server/discover" {
		p.s.put(&Frame{Side: FromServer, Raw: f.Raw, Ended: f.Ended, Shape: Echo})
		return errEcho
	}
	p.s.take(f)
	return nil
}

// finish records how the session ended.
func (p *Stdio) finish(why error) {
	var cause string
	if why != nil {
		cause = why.Error()
		p.s.exceed(ExcessOf(why))
		p.proc.kill()
	} else {
		grace := time.NewTimer(time.Second)
		select {
		case <-p.proc.exited:
			cause = "the server " + p.proc.exit.String()
			p.s.stderr.hear()
		case <-grace.C:
			cause = "the server closed its stdout but is still running"
		}
		grace.Stop()
	}
	p.s.crashed(cause)
}

// settle has nothing to wait for: a line is not acknowledged.
func (p *Stdio) settle(int) {}

// closeInput takes leave before.
func (p *Stdio) closeInput() { p.part(func() { p.s.Era().leave(p.s) }) }

// isStarting reports whether the session has a process that has said nothing yet.
func (s *Session) isStarting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	fromServer := func(f *Frame) bool { return f.Side == FromServer }
	return s.Stdio() != nil && !slices.ContainsFunc(s.frames, fromServer)
}

// CloseInput closes the server's stdin, the way in which a client ends a session over stdio.
func (p *Stdio) CloseInput() { p.part(func() {}) }

// part closes stdin, once, after something else.
func (p *Stdio) part(first func()) {
	p.quit.Do(func() {
		first()
		p.s.event("stdin closed")
		p.s.ending()
		p.stop()
	})
}

func (p *Stdio) kill() { p.proc.kill() }

// close closes stdin, then sends SIGTERM, then SIGKILL to the whole process group.
func (p *Stdio) close() {
	const moment = 20 * time.Millisecond
	p.closeInput()
	if p.s.isAbandoned() {
		p.proc.kill()
	}
	if _, gone := p.AwaitExit(moment); !gone {
		p.proc.terminate()
		p.AwaitExit(p.s.limits.Stop)
	}
	p.proc.kill()
	<-p.proc.exited
	p.abandon()
}

// abandon waits for the end of the streams; what still holds them outlived its process group, and they are closed under
// it.
func (p *Stdio) abandon() {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		closeReader(p.proc.stdout)
		<-p.done
	}
	closeReader(p.proc.stdout)
	closeReader(p.proc.stderr)
}

// Terminate sends SIGTERM to the server's process group.
func (p *Stdio) Terminate() {
	p.s.event("SIGTERM sent")
	p.s.ending() // what comes now belongs to the shutdown
	p.proc.terminate()
}

// AwaitExit waits for the end of the process, at most for d.
func (p *Stdio) AwaitExit(d time.Duration) (Exit, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.proc.exited:
		select { // what it wrote before it went
		case <-p.done:
		case <-timer.C:
		}
		return p.proc.exit, true
	case <-timer.C:
	case <-p.s.ctx.Done():
	}
	return Exit{}, false
}

// Stderr is the beginning of what the server wrote to stderr, and how many bytes it wrote in all: nothing of a session
// that was recorded, which has no process.
func (p *Stdio) Stderr() (head []byte, total int) {
	if p == nil {
		return nil, 0
	}
	return p.s.stderr.beginning()
}

// Partial is how many bytes came that no newline has ended yet.
func (p *Stdio) Partial() int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.partial.bytes
}
