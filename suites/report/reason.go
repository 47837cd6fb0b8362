package report

// Reason says in one word why a check has no verdict on the server. The message of the result has the details.
type Reason string

// The reasons; see Reasons.
const (
	NotApplicable   Reason = "not-applicable" // default of a skip
	NotDeclared     Reason = "not-declared"
	NotOffered      Reason = "not-offered"
	NotObserved     Reason = "not-observed"
	OtherCheck      Reason = "other-check"
	NotGiven        Reason = "not-given"
	CallsOff        Reason = "calls-off"
	Undecided       Reason = "undecided" // default of an inconclusive result
	Silent          Reason = "silent"
	Died            Reason = "died"
	ForeignAnswer   Reason = "foreign-answer"
	Limit           Reason = "limit"
	NotListed       Reason = "not-listed"
	HandshakeFailed Reason = "handshake-failed"
	Stopped         Reason = "stopped"
	Budget          Reason = "budget"
	NotTried        Reason = "not-tried"
	Interrupted     Reason = "interrupted"
)

// Reasons are all reasons with their meanings, in the order of the documentation. Reasons may be added, but none
// changes its meaning.
var Reasons = []struct {
	Code  Reason
	Means string
}{
	{NotApplicable, "it does not apply to this server, or to how it was reached"},
	{NotDeclared, "the server does not declare the capability"},
	{NotOffered, "the server has nothing of the kind: no tool, no session ids, no event streams"},
	{NotObserved, "nothing that this check looks at was sent"},
	{OtherCheck, "another check, which the message names, judges what stands in the way"},
	{NotGiven, "it needs something that was not given, such as a token or a permission"},
	{CallsOff, "it needs a call of a tool that may not be called"},
	{Undecided, "the responses do not decide it"},
	{Silent, "no answer came in time"},
	{Died, "the process or the connection ended, or could not be obtained"},
	{ForeignAnswer, "a proxy or a rate limiter answered in place of the server"},
	{Limit, "one of mcpcheck's own limits was reached"},
	{NotListed, "the list that it needs could not be obtained: something else was answered, or its pages do not end"},
	{HandshakeFailed, "no session could be opened, or not without a token"},
	{Stopped, "the run was stopped because the server no longer responded"},
	{Budget, "the time of the run was spent"},
	{NotTried, "a quick run does not try it"},
	{Interrupted, "the operator ended the run"},
}
