// Package timing has the times that checks and the driver wait, each with its reason. Most are bounds, which end with
// the awaited event; what is called an interval, a pause or a retry passes in full. A few are what a requirement is
// judged by, such as MaxIdleStream. The time that a server has to answer (--timeout) and to start (--start-timeout) is
// the operator's, and stands in the Limits of package driver.
package timing

import "time"

// The transport.
const (
	// ExternalStart is how long mcpcheck tries to reach a server that it did not start.
	ExternalStart = 2 * time.Second
	// PortRetry is the pause between attempts to reach a port: short, since most servers listen within a tenth of a
	// second.
	PortRetry = 25 * time.Millisecond
	// AliveCheck is how long a process is waited for that accepts connections and so is alive: only the case that it
	// exits at this moment is missed.
	AliveCheck = 20 * time.Millisecond
	// EndingProcess is how long a process is waited for that no longer accepts connections: it is ending, which takes
	// longer on a busy machine.
	EndingProcess = 2 * time.Second
	// ListeningStart is how long the listening stream has to open before the next message is sent.
	ListeningStart = 50 * time.Millisecond
	// ResumeWait is the pause before a stream is resumed that names none (retry of the event stream).
	ResumeWait = 100 * time.Millisecond
	// MaxResumeWait is the longest pause before a stream is resumed, whatever the server names.
	MaxResumeWait = 3 * time.Second
	// Dial is how long a port of this machine is tried: addresses of the machine itself answer at once.
	Dial = time.Second
	// ProcessStart is how long a silent process counts as starting.
	ProcessStart = time.Second
	// EndlessBody is how long a body must last to be taken for a stream.
	EndlessBody = 500 * time.Millisecond
	// PieceInterval is the time between the pieces of a message, so that the server reads them separately.
	PieceInterval = 20 * time.Millisecond
	// ExitAfterStdin is how long a process that is no longer used has to exit by itself after stdin was closed.
	ExitAfterStdin = 20 * time.Millisecond
	// SubscriptionAck is how long the acknowledgement of the first subscription is waited for: the server may reject
	// it, and nothing depends on it.
	SubscriptionAck = 50 * time.Millisecond
	// ReplayUnanswered is how old an unanswered request must be at the end of a recorded session to count as
	// unanswered: a client that ended the session earlier may not have waited.
	ReplayUnanswered = time.Minute
	// UnansweredBefore is how long the response is waited for to a request that had none when it was sent before.
	UnansweredBefore = time.Second
	// LastOutput is how long the last output of a server that is not understood is waited for.
	LastOutput = time.Second
	// DeleteSession is how long the response to DELETE is waited for: nothing depends on it.
	DeleteSession = time.Second
	// HeadStart is how long a request has to reach the server before the next message is sent on another connection.
	HeadStart = 20 * time.Millisecond
	// AcceptMessage is how long a server over HTTP+SSE has to accept a message that needs no response.
	AcceptMessage = time.Second
	// StreamEnd is how long the stream of a response has to end after it, because a server may handle one request at a
	// time.
	StreamEnd = 100 * time.Millisecond
	// MinGrace is the shortest time that messages may still be on their way after a later request was answered.
	MinGrace = 5 * time.Millisecond
	// MinRetryAfter is the shortest pause before a request that was refused for the rate of requests is sent again.
	MinRetryAfter = 100 * time.Millisecond
	// MaxRetryAfter is the longest such pause: what asks for more is not waited for.
	MaxRetryAfter = 30 * time.Second
	// AllRetryAfter is how long all such pauses of a run may be, in sum.
	AllRetryAfter = 2 * time.Minute
	// FreedStream is how soon a server sends the headers of a request that has waited for the end of a stream.
	FreedStream = 250 * time.Millisecond
	// BusyRetry is the first pause before a request is sent again to a busy server; it doubles each time.
	BusyRetry = 20 * time.Millisecond
	// MaxBusyRetry is the longest pause before a request is sent again to a busy server.
	MaxBusyRetry = 80 * time.Millisecond
)

// The engine.
const (
	// LateWindow is how long a run waits for messages that may come late. The sessions of a slow server are observed
	// longer, as long as other checks run.
	LateWindow = 1250 * time.Millisecond
	// SlowLatency is the latency from which on a run of a server consists mostly of waiting for its responses: a
	// thousand requests take minutes.
	SlowLatency = 150 * time.Millisecond
)

// What checks share.
const (
	// Recent is how long before the end of a process another session counts as having been in use, so that it may be
	// the cause.
	Recent = 2 * time.Second
	// StreamReplaceWindow is how long after a GET stream was opened the server may close others in its favour.
	StreamReplaceWindow = 100 * time.Millisecond
	// ShortWait is how much longer than for a later request the client waits for one that takes the server no time.
	ShortWait = 500 * time.Millisecond
	// TaskPoll is the interval in which tasks are polled whose server names none.
	TaskPoll = 100 * time.Millisecond
	// MinTaskPoll is the shortest interval in which tasks are polled, even if the server asks for less.
	MinTaskPoll = 5 * time.Millisecond
	// QuickTask is how long a quick run waits for the next step of a task.
	QuickTask = 500 * time.Millisecond
	// LongTask is the duration from which on a further task of the kind has a session of its own, so that no other
	// check has to wait.
	LongTask = time.Second
	// ClientTaskPoll is how often a server may poll a task of the client.
	ClientTaskPoll = time.Second
	// ConditionPoll is the interval in which the events of a response are looked at until there are enough.
	ConditionPoll = 10 * time.Millisecond
	// CallInterval is how long a call has the server for itself before the next one of a group is sent.
	CallInterval = 20 * time.Millisecond
	// LongCall is the time after which a ping is sent while a call runs.
	LongCall = 300 * time.Millisecond
	// InputRetry is the pause before a request is retried without input, since the server may be busy.
	InputRetry = 10 * time.Millisecond
	// LongRequest is the time from which on a request is repeated in one variant only, not in all of them.
	LongRequest = time.Second
	// MaxCalls is how long the valid calls of a run may take altogether, unless the operator asks for all.
	MaxCalls = 10 * time.Second
	// EachMethod is how long the requests of one kind may take altogether that are tried with each method, beyond those
	// with the first one: a slow server is asked for less.
	EachMethod = 2 * time.Second
	// ListChanged is how long a server may take to announce a change of a list: it may collect changes for a while.
	ListChanged = 5 * time.Second
	// Exit is how long a process may take to exit after it was asked to.
	Exit = 5 * time.Second
	// ServerRequest is how long most servers take at most until they send a request on their own.
	ServerRequest = 500 * time.Millisecond
)

// Discovery.
const (
	// SecondProbe is how long the first process may be silent before the second one is probed as well: a third of the
	// time that a server has for its preferred revision. A process that was started long before has no excuse to be
	// slow then.
	SecondProbe = 2 * time.Second / 3
	// SilenceTry is how long a server that has left initialize unanswered is given to answer something else: only the
	// hint depends on it.
	SilenceTry = 6 * time.Second
	// ConnectRetry is the pause between attempts to connect to a server over HTTP that is starting.
	ConnectRetry = 200 * time.Millisecond
)

// Single areas.
const (
	// SessionEnd is the first pause before a session is tried again after DELETE; it doubles each time.
	SessionEnd = 50 * time.Millisecond
	// WorkStops is how long the work on a cancelled request may go on: it has to stop as soon as practical, and the end
	// of a request to another server takes no time.
	WorkStops = 5 * time.Second
	// UpstreamHeader is how long the request of a tool may take until its header is complete.
	UpstreamHeader = 10 * time.Second
	// DroppedStream is how long a server has to notice that a client dropped a stream.
	DroppedStream = 100 * time.Millisecond
	// MaxIdleStream is how long the stream of a subscription may be open without a comment.
	MaxIdleStream = 30 * time.Second
	// OpenAfterResponse is how long the stream of a request may stay open after the response.
	OpenAfterResponse = 2 * time.Second
	// SlowCall is the shortest duration of a call that shows that the tool did its work before it answered.
	SlowCall = 2 * time.Second
	// Crossing is the time in which two messages may cross that are sent on different streams or in different
	// directions: a response and a cancellation, the exit of a server and a request.
	Crossing = time.Second
	// TaskRequests is the interval in which server requests are answered while a call is made as a task.
	TaskRequests = 100 * time.Millisecond
	// StateExpiry is how long after the declared time a requestState is presented: the server may count whole seconds.
	StateExpiry = 2 * time.Second
	// RequestTimeout is how long after the declared time the server may cancel its request: it may count whole seconds.
	RequestTimeout = 2 * time.Second
	// RequestProgress is the longest pause between progress notifications for a request of the server.
	RequestProgress = time.Second
	// ClosedStream is how long a server over HTTP+SSE has to notice that the stream was closed.
	ClosedStream = time.Second
	// ClosedStreamRetry is the pause between requests that find out whether it has.
	ClosedStreamRetry = 50 * time.Millisecond
)
