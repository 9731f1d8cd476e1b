import type { OperationValues, SandboxClient } from './sandbox-client.js';

const CATALOGUE = '/admin/accounts/{account_code}';

/**
 * Creates the entries that the examples of DELETE name: catalogue entries and an alert. The alert is disabled, because
 * no person in the sandbox receives its messages. Returns the values of these examples.
 * @param accountCode the account in which to create the catalogue entries
 */
export async function makeSpareEntries(client: SandboxClient, accountCode: string): Promise<OperationValues> {
  const at = (kind: string, code: string, body: object) =>
    client.call('PUT', `/admin/accounts/${accountCode}/${kind}/${code}`, body);
  await at('tests', 'SPARE', { name: 'A test to delete', portions: [{ portion_code: 'MAIN' }] });
  await at('schools', 'SPARE', { name: 'A school to delete' });
  await at('accommodations', 'SPARE', { name: 'An accommodation to delete', requires_approval: false });
  await at('attribute-keys', 'spare-key', { name: 'A key to delete' });
  await at('vouchers', 'SPARE', { discount_type: 'PERCENT', discount_value: 5 });
  for (const name of ['on-call', 'spare'])
    await client.call('PUT', `/admin/alerts/${name}`, {
      kind: 'WEBHOOK',
      url: 'https://chat.example/hooks/on-call',
      disabled: true,
    });
  const inAccount = { account_code: accountCode };
  return {
    [`DELETE ${CATALOGUE}/tests/{test_code}`]: { ...inAccount, test_code: 'SPARE' },
    ...Object.fromEntries(
      ['schools', 'accommodations', 'vouchers'].map((kind) => [
        `DELETE ${CATALOGUE}/${kind}/{code}`,
        { ...inAccount, code: 'SPARE' },
      ]),
    ),
    [`DELETE ${CATALOGUE}/attribute-keys/{code}`]: { ...inAccount, code: 'spare-key' },
    'DELETE /admin/alerts/{name}': { name: 'spare' },
  };
}
