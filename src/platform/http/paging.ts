import type { Response } from 'express';
import { LessThan } from 'typeorm';
import { Field } from '../validation/fields.js';
import { integer, text, type Rule } from '../validation/rules.js';
import { declareFaults } from '../errors.js';
import { openCursor, sealCursor } from './cursor.js';
import type { HttpConfig } from './http.config.js';

declareFaults({
  limit_invalid: [
    'The parameter `limit` is not a whole number of at least 1.',
    'Send the parameter once, and write the number in digits.',
  ],
  cursor_invalid: [
    'The cursor was not issued by this service.',
    'Follow the URL of the next page in the Link header without changing it.',
  ],
});

const DEFAULT_LIMIT = 50;
export const MOST = 200;
/**
 * The maximum number of rows that one page of a list reads. Statements contain this number, because PostgreSQL's
 * planner needs an upper bound, but cannot see the value of the parameter for the page size.
 */
export const MOST_TAKEN = MOST + 1;

/** The rule for the `limit` query parameter of a list: a whole number, at least 1. A number above 200 counts as 200. */
export const limitRule: Rule = {
  schema: {
    // The schema's maximum is the largest 32-bit integer, so that generated clients use a 32-bit type. The service also
    // accepts larger numbers.
    ...integer(1, 2 ** 31 - 1).schema,
    default: DEFAULT_LIMIT,
    description: `The number of entries on the page, at most ${MOST}. A larger number counts as ${MOST}.`,
  },
  faults: (value) =>
    typeof value === 'string' && /^[1-9]\d*$/.test(value)
      ? []
      : [{ pointer: '', code: 'limit_invalid', detail: 'Must be a whole number from 1, given once.' }],
};

const cursorText = text({
  min: 1,
  max: 200,
  description: 'The start of the page, as given in the Link header of the previous page.',
});

const cursorRule: Rule = {
  schema: cursorText.schema,
  faults: (value) => {
    const faults = cursorText.faults(value);
    if (faults.length > 0 || readCursor(value as string) !== null) return faults;
    return [{ pointer: '', code: 'cursor_invalid', detail: 'The cursor was not issued by this service.' }];
  },
};

/** The query parameters of every list. */
export class PageQuery {
  @Field(limitRule)
  limit?: string;

  @Field(cursorRule)
  cursor?: string;
}

/** The page that was requested. `take` is one more than `size`: an additional row shows that there is a next page. */
export interface Page {
  readonly size: number;
  readonly take: number;
  /** The position of the last row of the previous page; null for the first page. */
  readonly after: number | null;
  /**
   * The sort key of the last row of the previous page, in a list that is not sorted by position alone; null for the
   * first page.
   */
  readonly afterKey: number | null;
}

/**
 * Returns the SQL condition that a row comes after the cursor's position. The parameter is null for the first page.
 * With this condition, the scan of the index starts where the page begins. A condition with `… IS NULL OR …` would read
 * all earlier pages.
 */
export function afterCursor(parameter: string): string {
  return `position < coalesce(${parameter}::bigint, 9223372036854775807)`;
}

/** Returns the options of `EntityManager.find` for a page of entities, newest first. */
export function newestFirst(page: Page, where: Record<string, unknown> = {}) {
  return {
    where: { ...where, ...(page.after === null ? {} : { position: LessThan(page.after) }) },
    order: { position: 'DESC' as const },
    take: page.take,
  };
}

/** Returns the maximum number of rows of a page for a value of the `limit` query parameter. */
export function pageSize(limit: string | undefined): number {
  return Math.min(Number(limit ?? DEFAULT_LIMIT), MOST);
}

export function pageOf(query: PageQuery): Page {
  const size = pageSize(query.limit);
  const last = query.cursor === undefined ? null : readCursor(query.cursor);
  return { size, take: size + 1, after: last?.position ?? null, afterKey: last?.key ?? null };
}

/** Returns the position in a cursor, and the sort key if there is one; null if the service did not issue the cursor. */
function readCursor(cursor: string): { position: number; key: number | null } | null {
  const [, key, position] = /^(?:(\d{1,15}) )?(\d{1,15})$/.exec(openCursor(cursor) ?? '') ?? [];
  return position === undefined ? null : { position: Number(position), key: key === undefined ? null : Number(key) };
}

/**
 * Returns the rows of the page. If there is a next page, sets the `Link` header (RFC 8288) to its address. Rows that
 * have a `page_key` are sorted by this key and then by `position`. Other rows are sorted by `position`. The position of
 * a row never changes, so pages stay stable while rows are added.
 */
export function sendPage<Row extends { position: number; page_key?: number }>(
  rows: Row[],
  page: Page,
  response: Response,
): Row[] {
  if (rows.length <= page.size) return rows;
  const kept = rows.slice(0, page.size);
  const { position, page_key: key } = kept.at(-1)!;
  linkNext(response, 'cursor', sealCursor(key === undefined ? String(position) : `${key} ${position}`));
  return kept;
}

/**
 * Sets the `Link` header (RFC 8288) to the address of the next page: the URL of the current request with a different
 * value of one parameter.
 */
export function linkNext(response: Response, parameter: string, value: string): void {
  const { baseUrl, basePath } = response.app.locals['http'] as HttpConfig;
  const url = new URL(response.req.originalUrl, 'http://localhost');
  url.searchParams.set(parameter, value);
  response.append('Link', `<${baseUrl}${url.pathname.slice(basePath.length)}${url.search}>; rel="next"`);
}
