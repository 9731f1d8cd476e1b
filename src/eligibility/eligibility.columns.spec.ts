import { getMetadataArgsStorage } from 'typeorm';
import { DEFAULTED, WRITTEN } from './eligibility.columns.js';
import { Eligibility } from './eligibility.entity.js';

const declared = getMetadataArgsStorage()
  .columns.filter(({ target }) => target === Eligibility)
  .map(({ propertyName }) => propertyName);

/** Returns columns of the entity that are in neither list, and columns of a list that the entity lacks. */
const gaps = (columns: readonly string[]) => [
  ...declared.filter((name) => !columns.includes(name)),
  ...columns.filter((name) => !declared.includes(name)),
];

describe('the columns of a record', () => {
  const columns = [...Object.keys(WRITTEN), ...DEFAULTED];

  it('are the columns of the entity, each written or left to its default', () => {
    expect(gaps(columns)).toEqual([]);
  });

  it('are reported as incomplete when one is forgotten or unknown', () => {
    expect(gaps(columns.filter((name) => name !== 'suffix'))).toEqual(['suffix']);
    expect(gaps([...columns, 'nickname'])).toEqual(['nickname']);
  });
});
