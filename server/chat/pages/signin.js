// Fills in the sign-in page from the link that `platform chat --web` prints:
// /sign-in#who=...&code=... What follows the "#" never leaves the browser.
export function fill() {
  const form = document.getElementById('sign-in');
  if (!form || location.hash.length < 2) return;
  const link = new URLSearchParams(location.hash.slice(1));
  if (!link.get('code')) return;
  const who = [...form.elements].filter((one) => one.name === 'who');
  for (const one of who) {
    if (one.type === 'radio') one.checked = one.value === link.get('who');
    else one.value = link.get('who');
  }
  form.elements.secret.value = link.get('code');
  history.replaceState(null, '', location.pathname);
  form.querySelector('button').focus();
}
