import { prepared, type Statement } from '../platform/database/database.js';
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
  /** Finds a live eligibility that mentions the entry; null where a foreign key guards it. */
  readonly findUse: Statement | null;
}

// "Live" by the stored status: a record whose window is over may be revived by a later end date.
const LIVE = `status IN ('PENDING', 'ELIGIBLE', 'SCHEDULED')`;

/** How each of the simple kinds is kept. Their rows differ in the code's column and in what follows the name. */
export const CATALOGUE: { readonly [Kind in CatalogueKind]: KindOfEntry<Kind> } = {
  school: { entity: School, codeColumn: 'school_code', findUse: null },
  accommodation: {
    entity: Accommodation,
    codeColumn: 'accommodation_code',
    findUse: prepared(
      'accommodation-find-use',
      `SELECT 1 FROM eligibilities WHERE account_code = $1 AND ${LIVE} AND $2 = ANY (special_accommodations) LIMIT 1`,
    ),
  },
  'attribute-key': {
    entity: AttributeKey,
    codeColumn: 'attribute_key',
    findUse: prepared(
      'attribute-key-find-use',
      `SELECT 1 FROM eligibilities WHERE account_code = $1 AND ${LIVE}
         AND additional_attributes @> jsonb_build_array(jsonb_build_object('key', $2::text)) LIMIT 1`,
    ),
  },
};

export const FIND_PORTION_USE = prepared(
  'test-find-portion-use',
  `SELECT DISTINCT portion_code
   FROM eligibilities CROSS JOIN unnest(portion_codes) AS portion_code
   WHERE account_code = $1 AND test_code = $2 AND ${LIVE} AND portion_code = ANY ($3::text[])
   ORDER BY portion_code`,
);

export const FIND_TEST_USE = prepared(
  'test-find-use',
  `SELECT 1 FROM vouchers WHERE account_code = $1 AND test_codes @> ARRAY[$2::text] LIMIT 1`,
);
