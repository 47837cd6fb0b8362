// Package handshake begins and ends sessions in legal but unusual ways, for the checks of lifecycle, versions and
// shutdown.
//
// RunScenario begins a session of a legacy revision by a Scenario, such as with ping before initialize or without a
// reader of stderr, and returns what the server did as a ScenarioResult. A process is expensive, so scenarios are
// combined in few processes; what fails there is confirmed in a session that differs in one thing only.
//
// For modern revisions, which have no handshake, VersionProbes, RequestsWithoutMeta and FirstListReply test the
// first requests on a connection. CloseStdin ends a session over stdio and observes the exit.
package handshake
