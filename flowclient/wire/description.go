package wire

// DescriptionPath takes GET, also of those without a token, and answers 200
// with the OpenAPI description of the flow endpoints.
const DescriptionPath = "/openapi.json"
