// Opens the addresses that chat clients and bots write,
// /#narrow/channel/{id}-{name}/topic/{topic}/near/{message}, as pages.
// The topic is passed on as it is encoded: the server reads the same encoding.
export function follow() {
  const form = /^#narrow\/(?:channel|stream)\/(\d+)[^\/]*(?:\/(?:topic|subject)\/([^\/]+)(?:\/(?:near|with)\/(\d+))?)?/;
  const m = form.exec(location.hash);
  if (!m) return;
  let address = '/read/' + m[1];
  if (m[2]) address += '/' + m[2];
  if (m[3]) address += '?near=' + m[3] + '#message-' + m[3];
  location.replace(address);
}
