/** The shell: which screen the address names, and whether anybody is signed in. */
import { auditScreen } from './audit.js';
import { announce, byId, el, heading } from './dom.js';
import { causeScreen, queueScreen } from './error-queue.js';
import { eligibilitiesScreen } from './eligibilities.js';
import { notificationScreen } from './notification.js';
import { notificationsScreen } from './notifications.js';
import { problemBox } from './forms.js';
import { resendScreen } from './resend.js';
import { currentUser, signOut, whenSessionEnds } from './session.js';
import { signInScreen } from './sign-in.js';
import { newSubscriptionScreen } from './subscription-form.js';
import { subscriptionScreen, subscriptionsScreen } from './subscriptions.js';

const ID = '([0-9a-f-]{36})';
const SCREENS = [
  ['/queue', queueScreen],
  ['/queue/notifications', causeScreen],
  [`/resends/${ID}`, resendScreen],
  ['/notifications', notificationsScreen],
  [`/notifications/${ID}`, notificationScreen],
  ['/subscriptions', subscriptionsScreen],
  ['/subscriptions/new', newSubscriptionScreen],
  [`/subscriptions/${ID}`, subscriptionScreen],
  ['/eligibilities', eligibilitiesScreen],
  ['/audit', auditScreen],
].map(([pattern, screen]) => [new RegExp(`^${pattern}$`), screen]);

const main = byId('screen');
let shown = new AbortController();

/** Shows the screen of the address. A screen that was left while it loaded is dropped. */
async function show(message) {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  for (const open of document.querySelectorAll('dialog[open]')) open.close();
  byId('banner').hidden = currentUser() === null;
  byId('user').replaceChildren(currentUser() ?? '');
  setLoading(currentUser() !== null);
  if (currentUser() === null) {
    const screen = signInScreen(() => void show());
    return present(screen, message);
  }

  const [path, search = ''] = (location.hash.slice(1) || '/queue').split('?');
  markCurrent(path);
  const content = await contentOf(path, search, signal);
  if (signal.aborted) return;
  setLoading(false);
  present(content, message);
}

async function contentOf(path, search, signal) {
  for (const [pattern, screen] of SCREENS) {
    const match = pattern.exec(path);
    if (!match) continue;
    try {
      const query = Object.fromEntries(new URLSearchParams(search));
      return await screen({ id: match[1], query, signal, reload: (message) => show(message) });
    } catch (error) {
      const again = el('button', { type: 'button', onclick: () => void show() }, 'Try again');
      return [heading('This could not be shown'), problemBox(error), el('div', { class: 'actions' }, again)];
    }
  }
  return [heading('There is no such page'), el('p', {}, el('a', { href: '#/queue' }, 'Error queue'))];
}

function setLoading(loads) {
  byId('loading').hidden = !loads;
  main.setAttribute('aria-busy', String(loads));
}

function present(content, message) {
  main.replaceChildren(...[content].flat());
  const title = main.querySelector('h1');
  document.title = `${title.textContent} – Operator console`;
  (main.querySelector('[autofocus]') ?? title).focus({ preventScroll: message !== undefined });
  if (message !== undefined) announce(message);
}

function markCurrent(path) {
  const section = path.startsWith('/resends') ? '/queue' : `/${path.split('/')[1]}`;
  for (const link of byId('banner').querySelectorAll('nav a')) {
    if (link.getAttribute('href') === `#${section}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

byId('sign-out').addEventListener('click', async () => {
  const revoked = signOut();
  await show('You are signed out.');
  await revoked.catch(() => announce('Signed out here, but the service did not answer: the tokens end by themselves.'));
});
byId('skip').addEventListener('click', () => main.focus());
whenSessionEnds(() => void show('Your session has ended. Sign in again.'));
addEventListener('hashchange', () => {
  scrollTo(0, 0);
  announce();
  void show();
});
void show();
