/** A new subscription. */
import { get, post } from './api.js';
import { el, goTo, heading, route } from './dom.js';
import { checkboxes, field, form, input, select, showSecret } from './forms.js';
import { CHANGE_REASONS } from './lists.js';

const AUTO_RETRY = [
  ['500', '500 (always)', true],
  ['502', '502'],
  ['503', '503'],
  ['504', '504'],
  ['timeout', 'no answer in time'],
  ['connection', 'no connection'],
];

/** The members of `auth` by its type: name, label, attributes. */
const AUTH = {
  none: [],
  basic: [
    ['username', 'User name'],
    ['password', 'Password', { type: 'password', autocomplete: 'new-password' }],
  ],
  bearer: [['token', 'Token', { type: 'password', autocomplete: 'new-password' }]],
  oauth2_client_credentials: [
    ['token_url', 'Token URL', { type: 'url' }],
    ['client_id', 'Client id'],
    ['client_secret', 'Client secret', { type: 'password', autocomplete: 'new-password' }],
    ['scope', 'Scope', { optional: true }],
  ],
};

export async function newSubscriptionScreen() {
  const accounts = await get('/admin/accounts', { limit: 200 });
  const names = el(
    'datalist',
    { id: 'accounts' },
    accounts.map(({ account_code, name }) => el('option', { value: account_code }, name)),
  );
  const account = input('/account_code', { required: true, list: 'accounts', maxlength: '50' });
  const url = input('/partner_url', { type: 'url', required: true, placeholder: 'https://partner.example/events' });
  const reasons = checkboxes(
    'Events',
    '/change_reasons',
    CHANGE_REASONS.map((reason) => [reason, reason]),
    () => true,
  );
  const retries = checkboxes('Retried automatically', '/auto_retry_on', AUTO_RETRY, (value) => value === '500');
  const wait = input('/wait_ms', { inputmode: 'numeric' });
  const pem = (name) => el('textarea', { name, rows: '4', spellcheck: 'false', placeholder: '-----BEGIN …' });
  const [ca, certificate, key] = [pem('/ca_pem'), pem('/client_cert_pem'), pem('/client_key_pem')];

  const type = select(
    '/auth/type',
    [
      ['none', 'None'],
      ['basic', 'Basic'],
      ['bearer', 'Bearer token'],
      ['oauth2_client_credentials', 'OAuth2 client credentials'],
    ],
    'none',
  );
  const authFields = el('div', {});
  type.addEventListener('change', showAuthFields);

  const element = form(
    [
      el(
        'fieldset',
        {},
        el('legend', {}, 'Who'),
        names,
        field('Account code', account),
        field('Partner URL', url, {
          hint: 'https, without a query. Notifications are PUT to this address with /notifications at its end.',
        }),
      ),
      reasons,
      el('fieldset', {}, el('legend', {}, 'How the partner knows us'), field('Authentication', type), authFields),
      el(
        'details',
        {},
        el('summary', {}, 'More settings'),
        field('Time for one attempt in ms', wait, { hint: '1000 to 60000.', optional: true }),
        retries,
        field('Root certificates (PEM)', ca, { hint: "In place of the system's roots.", optional: true }),
        field('Client certificate (PEM)', certificate, { optional: true }),
        field('Key of the client certificate (PEM)', key, { optional: true }),
      ),
    ],
    'Create',
    async () => {
      const created = await post('/admin/subscriptions', body());
      await showSecret('The signing secret', created.signing_secret);
      goTo(route(`/subscriptions/${created.id}`));
    },
    { more: el('a', { class: 'button', href: '#/subscriptions' }, 'Cancel') },
  );
  return [
    el('nav', { class: 'trail', 'aria-label': 'Trail' }, el('a', { href: '#/subscriptions' }, 'Subscriptions')),
    heading('New subscription'),
    element,
  ];

  function showAuthFields() {
    authFields.replaceChildren(
      ...AUTH[type.value].map(([name, label, { optional = false, ...attributes } = {}]) =>
        field(label, input(`/auth/${name}`, { required: !optional, ...attributes }), { optional }),
      ),
    );
  }

  /** Fields left empty are left out: the service has a default for each. */
  function body() {
    const auth = [...authFields.querySelectorAll('input')].filter((control) => control.value !== '');
    const optional = {
      wait_ms: /^\d+$/.test(wait.value.trim()) ? Number(wait.value) : wait.value.trim(),
      ca_pem: ca.value.trim(),
      client_cert_pem: certificate.value.trim(),
      client_key_pem: key.value.trim(),
    };
    return {
      account_code: account.value.trim(),
      partner_url: url.value.trim(),
      change_reasons: checked(reasons),
      auth: {
        type: type.value,
        ...Object.fromEntries(auth.map((control) => [control.name.slice('/auth/'.length), control.value])),
      },
      auto_retry_on: checked(retries),
      ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== '')),
    };
  }
}

function checked(group) {
  return [...group.querySelectorAll('input:checked')].map((control) => control.value);
}
