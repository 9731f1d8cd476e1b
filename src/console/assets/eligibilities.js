/** The eligibilities of one candidate, and what only an operator may do with them. */
import { ApiError, get, post } from './api.js';
import { badge, el, goTo, heading, none, route, shown, table, time } from './dom.js';
import { button, confirm, field, form, input, problemBox } from './forms.js';
import { mayRead } from './session.js';

export async function eligibilitiesScreen({ query, reload }) {
  if (!mayRead()) {
    const text = 'The user and the application need the scope read for this page.';
    return [heading('Eligibilities'), el('p', { class: 'empty' }, text)];
  }
  const { account_code: account = '', candidate_id: candidate = '' } = query;
  return [
    heading('Eligibilities'),
    lookUpForm(account, candidate),
    account === '' || candidate === '' ? null : await found(account, candidate, reload),
  ].filter(Boolean);
}

function lookUpForm(account, candidate) {
  const fields = [
    input('account_code', { required: true, maxlength: '50', value: account }),
    input('candidate_id', { required: true, maxlength: '50', value: candidate }),
  ];
  return form(
    el('div', { class: 'filters' }, field('Account code', fields[0]), field('Candidate id', fields[1])),
    'Look up',
    () => {
      const [accountCode, candidateId] = fields.map((control) => control.value.trim());
      goTo(route('/eligibilities', { account_code: accountCode, candidate_id: candidateId }));
    },
  );
}

async function found(account, candidate, reload) {
  const path = `/accounts/${encodeURIComponent(account)}/candidates/${encodeURIComponent(candidate)}`;
  const problems = el('div', {});
  let eligibilities;
  try {
    eligibilities = await get(path);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return problemBox(error);
  }
  const list = table('The newest first. Times are UTC.', [
    { label: 'Eligibility', kind: 'main', cell: ({ svc_eligiblity_id }) => svc_eligiblity_id },
    { label: 'Test', cell: ({ test_code }) => test_code },
    { label: 'Status', cell: ({ status }) => badge(status) },
    { label: 'Why', kind: 'wide', cell: ({ eligibility_status_message }) => shown(eligibility_status_message) },
    { label: 'From', cell: ({ schedule_start_date }) => time(schedule_start_date) },
    { label: 'Until', cell: ({ eligibility_end_date }) => time(eligibility_end_date) },
    { label: 'Actions', cell: (eligibility) => actionsOf(eligibility, problems, reload) },
  ]);
  list.add(eligibilities);
  return el('div', { class: 'list' }, problems, list.element);
}

function actionsOf({ svc_eligiblity_id: id, status }, problems, reload) {
  const path = `/admin/eligibilities/${id}`;
  const act = (label, action, done) =>
    button(
      label,
      async () => {
        await post(`${path}/${action}`);
        reload(done);
      },
      { problems },
    );
  const hold = button('Hold …', async () => {
    const held = await confirm({
      title: `Hold ${id}?`,
      text: 'The candidate cannot be scheduled until the hold is released.',
      reason: 'required',
      hint: 'Shown to the client.',
      action: 'Hold',
      kind: 'danger',
      perform: (reason) => post(`${path}/hold`, { reason }),
    });
    if (held !== null) reload('The eligibility is on hold.');
  });
  if (status === 'ELIGIBLE') return hold;
  if (status !== 'PENDING') return none();
  return el(
    'div',
    { class: 'actions' },
    hold,
    act('Release', 'release', 'The hold is released.'),
    act('Approve accommodations', 'approve-accommodations', 'The accommodations are approved.'),
  );
}
