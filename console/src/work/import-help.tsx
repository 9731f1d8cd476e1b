import { Button } from '../components/button';
import { csvText } from '../components/csv-text';
import { membersOf } from '../components/form-rules';
import { download } from '../components/list-csv';

/** The columns of the sample file, each with the value of its only row. */
const SAMPLE: readonly (readonly [column: string, value: string])[] = [
  ['action', 'ADD'],
  ['candidate_id', 'C-1001'],
  ['first_name', 'Grace'],
  ['last_name', 'Hopper'],
  ['email', 'grace@example.org'],
  ['test_code', 'TEST-CODE'],
  ['portion_codes', ''],
  ['schedule_start_date', ''],
  ['eligibility_end_date', '2030-12-31T23:59:59Z'],
  ['voucher_codes', ''],
  ['special_accommodations', ''],
];

const COLUMNS = [...membersOf('EligibilityModel'), ...membersOf('CandidateModel')].filter(
  ([name]) => name !== 'candidate' && name !== 'additional_attributes',
);

/** Explains the columns of an import file, and offers a sample file. */
export function ImportHelp() {
  return (
    <>
      <Button
        small
        onPress={() =>
          download('import-sample.csv', csvText([SAMPLE.map(([column]) => column), SAMPLE.map(([, value]) => value)]))
        }
      >
        Download a sample file
      </Button>
      <details>
        <summary>Columns of the file</summary>
        <dl className="columns-help">
          <div>
            <dt>
              <code>action</code>
            </dt>
            <dd>ADD (default), UPDATE or CANCEL.</dd>
          </div>
          {COLUMNS.map(([name, description]) => (
            <div key={name}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd>{description}</dd>
            </div>
          ))}
          <div>
            <dt>
              <code>attributes.KEY</code>
            </dt>
            <dd>The value of one of the account’s attributes. Use a separate column for each attribute.</dd>
          </div>
        </dl>
        <p className="hint">If a cell contains a list, separate the entries with semicolons.</p>
      </details>
    </>
  );
}
