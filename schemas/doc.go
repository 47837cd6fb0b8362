// Package schemas validates what servers and clients send.
//
// It has two halves. ValidateMessage judges a message, or a part of one, by the JSON Schema that a revision gives for a
// definition; the schemas of all revisions and extensions are in messages.yaml and extensions, in a notation of their
// own. Compile reads the schema that a tool publishes: Schema.Validate judges values by it, and ValidArguments and
// Counterexamples make valid and invalid arguments.
//
// The package also embeds the JSON Schema of the JSON report (Report). The program writes that of mcpcheck.yaml,
// config.schema.json.
//
// It starts no process and reads nothing from the network. Levels and results of checks are unknown to it: a Violation
// says which rule a value breaks, and where. Input may come from an untrusted server. What exceeds the limits on size
// and work is reported as a LimitError, which says nothing about validity.
package schemas
