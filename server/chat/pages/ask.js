// Asks the server: the API that every client of the chat has, the pages, and
// what their forms do. A failure is an error with the answer's code and status.

async function read(response) {
  const body = await response.json().catch(() => ({}));
  if (!response.ok) {
    const problem = new Error(body.msg || 'The server answered ' + response.status + '.');
    problem.code = body.code;
    problem.status = response.status;
    throw problem;
  }
  return body;
}

// api calls an endpoint; fields that are not strings are sent as JSON.
export async function api(method, path, fields = {}, options = {}) {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    form.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  const address = '/api/v1' + path;
  return read(method === 'GET'
    ? await fetch(address + '?' + form, options)
    : await fetch(address, { ...options, method, body: form }));
}

// send does what a form does, and gives the answer instead of a page.
export async function send(form, fields) {
  return read(await fetch(form.action, {
    method: 'POST', headers: { Accept: 'application/json' }, body: new URLSearchParams(fields),
  }));
}

// page reads a page of this server as a document; null when there is none.
export async function page(address) {
  const response = await fetch(address);
  if (!response.ok) return null;
  return new DOMParser().parseFromString(await response.text(), 'text/html');
}
