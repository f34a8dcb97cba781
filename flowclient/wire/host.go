package wire

// HostPath takes GET and answers 200 with a flowclient.Host.
const HostPath = "/host"
