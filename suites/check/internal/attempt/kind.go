package attempt

// Kind says what a check needs, which decides when it runs.
type Kind int

const (
	Probe         Kind = iota // uses sessions that it shares with others
	ProcessProbe              // needs a process of its own, which is started ahead
	ShutdownProbe             // ends a session, so it runs after the probes
	RestartProbe              // restarts the process of a site, so it runs when nothing else does
	Watch                     // judges what was on the wire, so it runs last
)
