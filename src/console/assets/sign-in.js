import { el, heading } from './dom.js';
import { field, form, input, notice, tellFault } from './forms.js';
import { signIn, TokenError } from './session.js';

export function signInScreen(signedIn) {
  const key = input('consumer_key', { required: true, autofocus: true, autocapitalize: 'none' });
  const secret = input('consumer_secret', { type: 'password', required: true });
  const username = input('username', { required: true, autocomplete: 'username', autocapitalize: 'none' });
  const password = input('password', { type: 'password', required: true, autocomplete: 'current-password' });
  const refusal = el('div', {});
  const element = form(
    [
      el(
        'fieldset',
        {},
        el('legend', {}, 'Your application'),
        field('Consumer key', key),
        field('Consumer secret', secret),
      ),
      el('fieldset', {}, el('legend', {}, 'You'), field('User name', username), field('Password', password)),
      refusal,
    ],
    'Sign in',
    async () => {
      refusal.replaceChildren();
      try {
        await signIn({
          consumerKey: key.value.trim(),
          consumerSecret: secret.value.trim(),
          username: username.value,
          password: password.value,
        });
      } catch (error) {
        if (!(error instanceof TokenError)) throw error;
        const { title, text, control } = explain(error);
        refusal.replaceChildren(notice(title, text));
        if (control) tellFault(control, 'Check this.');
        (control ?? key).focus();
        return;
      }
      signedIn();
    },
  );
  const note = 'Signed in until you sign out or close this page; nothing is stored in the browser.';
  return el('section', { class: 'sign-in' }, heading('Sign in'), element, el('p', { class: 'hint' }, note));

  function explain({ code, message, retryAfterS }) {
    switch (code) {
      case 'invalid_client':
        return {
          title: 'The application is not known',
          text: 'The consumer key or the consumer secret is wrong, or the application is disabled.',
          control: secret,
        };
      case 'invalid_grant':
        return {
          title: 'The user name or the password is wrong',
          text: 'After several wrong passwords a user is locked for some minutes.',
          control: password,
        };
      case 'invalid_scope':
        return {
          title: 'You may not use the console',
          text: 'Both the user and the application need the scope admin.',
        };
      case 'unauthorized_client':
        return {
          title: 'The application may not sign users in',
          text: 'It needs the grants password and refresh_token.',
          control: key,
        };
      case 'temporarily_unavailable':
        return { title: 'Not now', text: `Try again in ${retryAfterS} seconds.` };
      case 'unreachable':
        return { title: 'The service cannot be reached', text: 'Check the connection and try again.' };
      default:
        return { title: 'Signing in did not work', text: message };
    }
  }
}
