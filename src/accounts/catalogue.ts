import { Accommodation } from './accommodation.entity.js';
import type { CatalogueKind } from './accounts.commands.js';
import { AttributeKey } from './attribute-key.entity.js';
import { School } from './school.entity.js';

export interface CatalogueEntries {
  school: School;
  accommodation: Accommodation;
  'attribute-key': AttributeKey;
}

interface KindOfEntry<Kind extends CatalogueKind> {
  readonly entity: new () => CatalogueEntries[Kind];
  readonly codeColumn: keyof CatalogueEntries[Kind] & string;
}

/** For each simple kind of catalogue entry, the entity of its database table and the column that contains the code. */
export const CATALOGUE: { readonly [Kind in CatalogueKind]: KindOfEntry<Kind> } = {
  school: { entity: School, codeColumn: 'school_code' },
  accommodation: { entity: Accommodation, codeColumn: 'accommodation_code' },
  'attribute-key': { entity: AttributeKey, codeColumn: 'attribute_key' },
};
