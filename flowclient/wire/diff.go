package wire

// DiffPath takes GET with ?project= (WindowQuery) and answers 200 with a flowclient.Diff.
const DiffPath = "/diff"
