package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// process is a running server with its standard streams.
type process struct {
	stdin  io.WriteCloser
	stdout io.Reader
	stderr io.Reader

	// pid is its id, which is that of its group; 0 for a server inside this process.
	pid int
	// terminate sends SIGTERM to the process group.
	terminate func()
	// kill sends SIGKILL to the process group.
	kill func()
	// exited is closed when exit is known.
	exited chan struct{}
	exit   Exit
	// state is that of a process of this machine, once it has ended.
	state *os.ProcessState
}

func (p *process) hasExited() bool { return isClosed(p.exited) }

// end waits for the end of a process that was asked to end, at most for d, and then ends it by force.
func (p *process) end(d time.Duration) {
	closesWithin(context.Background(), p.exited, d)
	p.kill()
	<-p.exited
	closeReader(p.stdout)
	closeReader(p.stderr)
	p.stdin.Close()
}

// Exit says how a process ended.
type Exit struct {
	// Status is the exit status; -1 if a signal ended the process.
	Status int
	// Signal is the name of that signal, such as "killed"; empty if the process exited by itself.
	Signal string
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "was ended by a signal (" + e.Signal + ")"
	}
	return fmt.Sprintf("exited with status %d", e.Status)
}

// launch starts the target. When the context is done, the process group is killed.
func launch(ctx context.Context, t Target, o Options) (*process, error) {
	switch {
	case t.Serve != nil && o.Unconfigured:
		return launchInProcess(context.WithValue(ctx, unconfiguredKey{}, true), t.Serve, o.DiscardStderr), nil
	case t.Serve != nil:
		return launchInProcess(ctx, t.Serve, o.DiscardStderr), nil
	case len(t.Command) == 0:
		return nil, errors.New("no command to run")
	}
	return launchCommand(ctx, t, o)
}

func launchCommand(ctx context.Context, t Target, o Options) (*process, error) {
	cmd := exec.Command(t.Command[0], t.Command[1:]...)
	cmd.Dir = t.Dir
	if cmd.Env = append(os.Environ(), t.Env...); o.Unconfigured {
		cmd.Env = slices.Clone(t.UnconfiguredEnv)
	}
	cmd.Env = WithRunMarker(cmd.Env)
	var ours, theirs []*os.File // the ends of the pipes: those of the server are closed once it is started
	defer func() { closeFiles(theirs) }()
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeFiles(ours)
			return nil, err
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	ours[0], theirs[0] = theirs[0], ours[0] // stdin has the opposite direction
	cmd.Stdin, cmd.Stdout = theirs[0], theirs[1]
	if !o.DiscardStderr {
		cmd.Stderr = theirs[2]
	}
	group := newGroup(cmd)
	if err := cmd.Start(); err != nil {
		closeFiles(ours)
		return nil, err
	}
	p := &process{stdin: ours[0], stdout: ours[1], stderr: ours[2], pid: cmd.Process.Pid, exited: make(chan struct{})}
	if err := group.attach(cmd); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, err
	}
	p.terminate, p.kill = group.terminate, group.kill
	stop := context.AfterFunc(ctx, group.kill)
	go func() {
		defer stop()
		cmd.Wait()
		p.exit, p.state = exitOf(cmd.ProcessState), cmd.ProcessState
		close(p.exited)
	}()
	return p, nil
}

func closeFiles(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}

func launchInProcess(ctx context.Context, serve InProcessServer, muteStderr bool) *process {
	ctx, kill := context.WithCancel(ctx)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	term := make(chan struct{}, 1)
	p := &process{stdin: inW, stdout: outR, stderr: errR, exited: make(chan struct{}), kill: kill}
	p.terminate = func() {
		select {
		case term <- struct{}{}:
		default:
		}
	}
	context.AfterFunc(ctx, func() { // a killed process neither reads nor writes
		inR.CloseWithError(io.ErrClosedPipe)
		outW.Close()
		errW.Close()
	})
	go func() {
		defer kill()
		stderr := io.Writer(errW)
		if muteStderr {
			stderr = io.Discard
		}
		status := serve(ctx, inR, outW, stderr, term)
		outW.Close()
		errW.Close()
		inR.CloseWithError(io.ErrClosedPipe)
		if p.exit = (Exit{Status: status}); ctx.Err() != nil {
			p.exit = Exit{Status: -1, Signal: "killed"}
		}
		close(p.exited)
	}()
	return p
}

// stderrBuffer keeps the first and the last bytes of stderr, and discards those between them.
type stderrBuffer struct {
	mu    sync.Mutex
	limit int
	head  []byte
	tail  []byte
	total int
	// ended is closed at the end of stderr.
	ended chan struct{}
}

// collectStderr keeps what a process writes to stderr until its end. stderr may be nil if the process has none.
func collectStderr(stderr io.Reader, limit int) *stderrBuffer {
	k := &stderrBuffer{limit: limit, ended: make(chan struct{})}
	go func() {
		defer close(k.ended)
		if stderr != nil {
			io.Copy(k, stderr)
		}
	}()
	return k
}

// awaitEnd waits for the rest of the stderr of a process that has ended, at most for a second, since its children may
// still hold it open.
func (k *stderrBuffer) awaitEnd() { closesWithin(context.Background(), k.ended, time.Second) }

func (k *stderrBuffer) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.total += len(p)
	if room := k.limit - len(k.head); room > 0 {
		k.head = append(k.head, p[:min(room, len(p))]...)
	}
	k.tail = append(k.tail, p...)
	if excess := len(k.tail) - k.limit; excess > 0 {
		k.tail = append(k.tail[:0], k.tail[excess:]...)
	}
	return len(p), nil
}

// tailLines returns the last lines. The first of them may be cut.
func (k *stderrBuffer) tailLines() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	text := strings.TrimRight(strings.ToValidUTF8(string(k.tail), "\uFFFD"), "\n \r")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// headBytes returns the first bytes, without a cut character at the end, and the number of bytes in all.
func (k *stderrBuffer) headBytes() (head []byte, total int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	head = append(head, k.head...)
	if k.total > len(head) { // it may be cut inside a character
		for i := 1; i < utf8.UTFMax && i <= len(head); i++ {
			if last := head[len(head)-i:]; utf8.RuneStart(last[0]) && !utf8.FullRune(last) {
				head = head[:len(head)-i]
				break
			}
		}
	}
	return head, k.total
}
