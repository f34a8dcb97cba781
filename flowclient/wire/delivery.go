package wire

// DeliveryPath takes GET and answers 200 with a flowclient.Delivery.
const DeliveryPath = "/delivery"
