package wire

// StatePath takes GET and answers 200 with a flowclient.State.
const StatePath = "/state"
