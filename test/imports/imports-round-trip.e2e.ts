import fc from 'fast-check';
import { parse } from 'csv-parse/sync';
import { readCell, writeLine } from '../../src/imports/csv-cell';
import { startApp, type TestApp } from '../support/app';
import { importsOf } from '../support/imports';

/**
 * The number of accounts that the test tries. For the full form of this test, run `ROUND_TRIP_ACCOUNTS=2000 npx jest
 * --selectProjects e2e --testPathPatterns imports-round-trip`.
 */
const ACCOUNTS = Number(process.env['ROUND_TRIP_ACCOUNTS'] ?? 20);
const PRESENT = '2031-01-31T08:00:00Z';

const cell = fc.constantFrom('Rome', 'Oslo, "N"', '=1+1', "'=x", 'a;b', ' lead', 'trail ', '+49 30', 'Ærø', '', null);
const name = fc.constantFrom('Ada', '-Grace', 'O"Neill', "'Ann", 'Zoë ', '@X');
const ending = fc.constantFrom('CANCELLED', 'COMPLETED', 'ABSENT', 'EXPIRED', 'OPEN');
const record = fc.record({
  ending,
  hasVoucher: fc.boolean(),
  badge: fc.constantFrom(null, '1', 'north;2', '', '=A1'),
  candidate: fc.record({ first_name: name, last_name: name, middle_name: fc.option(name), city: cell, address1: cell }),
});
const edit = fc.record({
  line: fc.nat(20),
  change: fc.constantFrom(
    ['first_name', 'Edited'],
    ['middle_name', ''],
    ['middle_name', '=Edited'],
    ['city', ''],
    ['city', 'Edited; city'],
    ['address1', 'Edited "1", 2'],
    ['eligibility_end_date', '2033-01-31T08:00:00Z'],
    ['attributes.badge', 'edited'],
    ['attributes.badge', ''],
    ['voucher_codes', ''],
    ['last_name', '+Edited'],
  ),
});
const account = fc.record({
  candidates: fc.array(fc.array(record, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
  edit,
});

describe('importing an export after one cell was edited', () => {
  let app: TestApp;

  beforeAll(async () => (app = await startApp()));
  afterAll(() => app.close());

  it(
    'importing an export with one edited cell changes only the value in that cell, or nothing if the record is closed',
    async () => {
      let changes = 0;
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(account, async ({ candidates, edit: { line, change } }) => {
          runs++;
          const scene = await app.given.scene();
          const imports = importsOf(app, () => scene);
          await app.given.attributeKey(scene.account, 'badge');
          await app.given.attributeKey(scene.account, 'other');
          for (const [index, records] of candidates.entries())
            for (const { ending, hasVoucher, badge, candidate } of records) {
              const candidate_id = `R-${index}`;
              const additional_attributes = [
                { key: 'other', value: 'kept' },
                ...(badge === null ? [] : [{ key: 'badge', value: badge }]),
              ];
              const isTaken = (await imports.records(candidate_id)) as { status?: string }[];
              if (Array.isArray(isTaken) && isTaken.some(({ status }) => status === 'ELIGIBLE')) continue;
              const made = await app.given.eligibility(scene, {
                eligibility_end_date: PRESENT,
                ...(hasVoucher ? { voucher_codes: [await app.given.voucher(scene.account)] } : {}),
                candidate: { candidate_id, ...candidate, additional_attributes },
              });
              if (ending === 'OPEN') continue;
              const path = `/accounts/${scene.account}/candidates/${candidate_id}/tests/${scene.testCode}`;
              if (ending === 'CANCELLED') await app.call('DELETE', path, { token: scene.token });
              else
                await app.given.sql(
                  ending === 'EXPIRED'
                    ? `UPDATE eligibilities SET eligibility_end_date = '2020-01-01T00:00:00Z', status = 'EXPIRED' WHERE svc_eligiblity_id = $1`
                    : `UPDATE eligibilities SET status = '${ending}' WHERE svc_eligiblity_id = $1`,
                  [made['svc_eligiblity_id']],
                );
            }
          const rows = () =>
            app.given.sql(
              `SELECT e.*, ARRAY(SELECT voucher_code FROM voucher_redemptions v
                 WHERE v.svc_eligiblity_id = e.svc_eligiblity_id ORDER BY 1) AS voucher_codes
               FROM eligibilities e WHERE account_code = $1 ORDER BY position`,
              [scene.account],
            );
          const before = await rows();
          const [header, ...lines] = parse(await imports.exported(), { bom: true }).map((cells) => cells.map(readCell));
          const place = line % lines.length;
          const column = header.indexOf(change[0]);
          const edited = lines.map((cells, index) => (index === place ? cells.with(column, change[1]) : cells));
          const body = [['action', ...header], ...edited.map((cells) => ['UPDATE', ...cells])];
          const result = await imports.imported(body.map((cells) => writeLine(cells)).join(''));
          const after = await rows();
          const id = lines[place][header.indexOf('svc_eligiblity_id')];
          const differing = after.flatMap((row, index) =>
            Object.keys(row)
              .filter((key) => key !== 'updated_datetime' && key !== 'status')
              .filter((key) => JSON.stringify(row[key]) !== JSON.stringify(before[index][key]))
              .map((key) => [row['svc_eligiblity_id'], key].join(' ')),
          );
          const member = change[0].startsWith('attributes.') ? 'additional_attributes' : change[0];
          expect(differing).toEqual(result['updated'] === 0 ? [] : [`${id} ${member}`]);
          expect(result['created'] + result['cancelled']).toBe(0);
          const row = after.find(({ svc_eligiblity_id }) => svc_eligiblity_id === id)!;
          const told = result.report.find(({ row: number }) => number === String(place + 1))!;
          if (told['outcome'] === 'UPDATED') {
            changes++;
            if (member === 'additional_attributes') {
              const attributes = row['additional_attributes'] as { key: string; value: string }[];
              expect(attributes.find(({ key }) => key === 'other')?.value).toBe('kept');
              expect(attributes.find(({ key }) => key === 'badge')?.value ?? '').toBe(change[1]);
            } else if (member === 'voucher_codes') expect(row[member]).toEqual([]);
            else if (member === 'eligibility_end_date')
              expect(new Date(row[member] as string).toISOString()).toBe('2033-01-31T08:00:00.000Z');
            else expect(row[member] ?? '').toBe(change[1]);
          }
        }),
        { numRuns: ACCOUNTS, endOnFailure: ACCOUNTS > 100 },
      );
      expect([runs >= ACCOUNTS, changes > ACCOUNTS / 10]).toEqual([true, true]);
    },
    60_000 + ACCOUNTS * 1_000,
  );
});
