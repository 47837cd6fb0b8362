package schemas

// CodeUse is what a revision says about an error code.
type CodeUse string

// The uses of error codes.
const (
	CodeFree     CodeUse = ""         // an application may define it
	CodeDefined  CodeUse = "defined"  // JSON-RPC or the revision defines it
	CodeServer   CodeUse = "server"   // JSON-RPC leaves it to servers
	CodeLegacy   CodeUse = "legacy"   // as CodeServer, but only for servers that use it since an earlier revision
	CodeReserved CodeUse = "reserved" // it is reserved for future definitions
	CodeRetired  CodeUse = "retired"  // an earlier revision defined it
)

// CodeUseOf is what the revision says about an error code.
func CodeUseOf(revision string, code int) CodeUse { return messagesOf(revision).rangeOf(code).Use }

// ErrorDefinition names the definition of an error response with the code; the value to judge is the whole message. It
// is "Error" where the revision has no definition for the code.
func ErrorDefinition(revision string, code int) string {
	if definition := messagesOf(revision).rangeOf(code).Is; definition != "" {
		return definition
	}
	return "Error"
}

// codeRange is what revisions say about a range of error codes.
type codeRange struct {
	From, To int
	Use      CodeUse
	// Is is the definition of the whole error response; "" is "Error".
	Is            string
	Since, Before string
}

func (r codeRange) in(revision string) bool { return isBetween(r.Since, r.Before, revision) }

// rangeOf is the first range that includes the code; an empty one when there is none.
func (set *messageSet) rangeOf(code int) codeRange {
	for _, r := range set.codes {
		if r.From <= code && code <= r.To {
			return r
		}
	}
	return codeRange{}
}
