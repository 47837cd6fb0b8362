package schemas

// CodeUse is what a revision says of an error code.
type CodeUse string

// The uses of error codes.
const (
	CodeFree     CodeUse = ""         // an application may give it a meaning
	CodeDefined  CodeUse = "defined"  // JSON-RPC or the revision gives it its meaning
	CodeServer   CodeUse = "server"   // JSON-RPC leaves it to servers
	CodeLegacy   CodeUse = "legacy"   // the same, but for servers only that use it since an earlier revision
	CodeReserved CodeUse = "reserved" // kept for definitions to come
	CodeRetired  CodeUse = "retired"  // an earlier revision defined it
)

// CodeUseOf returns what the revision says of an error code.
func CodeUseOf(revision string, code int) CodeUse { return messagesOf(revision).rangeOf(code).Use }

// ErrorDefinition names the definition of an error response with the code; the value to judge is the whole message. It
// is "Error" where the revision gives the code no form of its own.
func ErrorDefinition(revision string, code int) string {
	if definition := messagesOf(revision).rangeOf(code).Is; definition != "" {
		return definition
	}
	return "Error"
}

// rangeOf is what revisions say of error codes next to each other.
type codeRange struct {
	From, To      int
	Use           CodeUse
	Is            string // definition of the whole error response, "" for Error
	Since, Before string
}

func (r codeRange) in(revision string) bool { return isBetween(r.Since, r.Before, revision) }

// rangeOf returns the first range that has the code, an empty one if none has.
func (set *messageSet) rangeOf(code int) codeRange {
	for _, r := range set.codes {
		if r.From <= code && code <= r.To {
			return r
		}
	}
	return codeRange{}
}
