// Package toolcall makes the calls of tools that several checks read, and the requests for prompts and completions.
//
// ValidCalls calls each tool once with arguments that its schema allows, InvalidCalls with arguments that it forbids.
// Both run once for all checks, and return ToolCalls: the calls with their replies, the tools that were not called with
// the reasons (Uncalled), and what changed in the lists meanwhile. GetPrompts and CompleteAll do the same for prompts
// and completions.
//
// A tool is called only as --calls, its annotations and mcpcheck.yaml permit. A CallBudget bounds the time and size of
// all calls together. A check that finds nothing to judge ends by SkipNotObserved, which names a tool that was left
// out.
package toolcall
