import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VIOLATIONS } from '../proof/specification/violations';

describe('the violations of the specification that `npm run mutants` plants', () => {
  it.each(VIOLATIONS.map(({ sentence, file, from, to }) => [sentence, file, from, to] as const))(
    'the planted violation of sentence %s of the specification can still be applied to the code in %s',
    (_sentence, file, from, to) => {
      expect(readFileSync(join(__dirname, '../..', file), 'utf8')).toContain(from);
      expect(to).not.toBe(from);
    },
  );
});
