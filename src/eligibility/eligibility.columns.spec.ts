import { getMetadataArgsStorage } from 'typeorm';
import { DEFAULTED, WRITTEN } from './eligibility.columns.js';
import { Eligibility } from './eligibility.entity.js';

const declared = getMetadataArgsStorage()
  .columns.filter(({ target }) => target === Eligibility)
  .map(({ propertyName }) => propertyName);

/**
 * Returns the columns of the entity that are missing from the given lists, and the listed columns that the entity does
 * not have.
 */
const gaps = (columns: readonly string[]) => [
  ...declared.filter((name) => !columns.includes(name)),
  ...columns.filter((name) => !declared.includes(name)),
];

describe('the columns of a record', () => {
  const columns = [...Object.keys(WRITTEN), ...DEFAULTED];

  it('every column of the eligibility entity is written at creation or has a default', () => {
    expect(gaps(columns)).toEqual([]);
  });

  it('the column check reports an entity column that is not listed, and a listed column that the entity lacks', () => {
    expect(gaps(columns.filter((name) => name !== 'suffix'))).toEqual(['suffix']);
    expect(gaps([...columns, 'nickname'])).toEqual(['nickname']);
  });
});
