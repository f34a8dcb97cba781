package wire

// DeliveryPath takes GET and answers 200 with a flowclient.Delivery and its
// ETag, or 304 to a request that names it in If-None-Match.
const DeliveryPath = "/delivery"
