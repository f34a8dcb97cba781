// Editing and deleting a message where it stands. The forms are those of the
// pages /message/{id}/edit and /message/{id}/delete, which work by themselves.
import { send, page } from './ask.js';
import { replace, remove } from './live.js';

const status = document.getElementById('status');

// fetched is the form of a page of a message; null where the server refuses it, and why is said.
async function fetched(message, what) {
  try {
    const response = await fetch('/message/' + message.dataset.id + '/' + what);
    const text = new DOMParser().parseFromString(await response.text(), 'text/html');
    const form = text.querySelector('form.' + what);
    status.textContent = form ? '' : text.querySelector('main [role=alert]')?.textContent || 'The server answered ' + response.status + '.';
    return form && document.importNode(form, true);
  } catch {
    status.textContent = 'The chat does not answer. Try again.';
    return null;
  }
}

// submitted sends a form without leaving the page; true when the server took it.
async function submitted(form, fields) {
  const button = form.querySelector('button');
  button.disabled = true;
  try {
    await send(form, fields);
    return true;
  } catch (problem) {
    form.querySelector('.problem').textContent = problem.message;
    return false;
  } finally {
    button.disabled = false;
  }
}

function close(message) {
  message.querySelector('form.edit')?.remove();
  message.querySelector('.content').hidden = false;
  message.focus();
}

// edit opens the box in a message's place.
export async function edit(message) {
  if (!message?.querySelector('a.edit')) return;
  const open = message.querySelector('form.edit textarea');
  if (open) {
    open.focus();
    return;
  }
  const form = await fetched(message, 'edit');
  if (!form || message.querySelector('form.edit')) return;
  const text = form.querySelector('textarea');
  const before = text.value;
  form.addEventListener('keydown', (e) => {
    if (e.isComposing) return;
    if (e.key === 'Escape') close(message);
    else if (e.key === 'Enter' && e.target === text && !e.shiftKey && !e.altKey) form.requestSubmit();
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
  form.querySelector('.cancel').addEventListener('click', (e) => { e.preventDefault(); close(message); });
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    if (text.value !== before && !await submitted(form, { content: text.value })) return;
    close(message);
    await replace(message.dataset.id);
  });
  message.querySelector('.content').hidden = true;
  message.querySelector('.content').after(form);
  text.focus();
  form.scrollIntoView({ block: 'nearest' });
  text.setSelectionRange(text.value.length, text.value.length);
}

// erase asks whether a message is to be deleted, and deletes it.
export async function erase(message) {
  if (!message?.querySelector('a.delete')) return;
  const form = await fetched(message, 'delete');
  if (!form || document.querySelector('dialog[open]')) return;
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-label', 'Delete a message');
  dialog.append(form);
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (message.isConnected) message.focus();
  });
  form.querySelector('.cancel').addEventListener('click', (e) => { e.preventDefault(); dialog.close(); });
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    if (!await submitted(form, {})) return;
    const all = [...document.querySelectorAll('.message[data-id]')];
    const next = all[all.indexOf(message) + 1] || all[all.indexOf(message) - 1];
    remove(message.dataset.id);
    dialog.close();
    next?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

// changes listens for the links of messages.
export function changes() {
  document.addEventListener('click', (e) => {
    const link = e.target.closest('.acts a.edit, .acts a.delete');
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    const act = link.matches('.edit') ? edit : erase;
    act(link.closest('.message'));
  });
}
