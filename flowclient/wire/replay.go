package wire

// DecisionPath takes GET and answers 200 with a flowclient.Replayed: what was
// decided, and what the recorded inputs come to now. The decision is named by
// its intent's id, or by the key of the event that tells of a refusal.
const DecisionPath = "/evidence/decision/{id}"
