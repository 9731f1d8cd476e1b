import type { MigrationInterface, QueryRunner } from 'typeorm';

/** By Unicode's rules, from the best to the last resort; a cluster has some of them, whatever its own collation is. */
const COLLATIONS = ['pg_unicode_fast', 'pg_c_utf8', 'und-x-icu', 'C.utf8', 'C.UTF-8', 'en_US.utf8', 'default'];

/** What texts are compared by where their case does not count: `lower` of a cluster whose collation is C knows ASCII alone. */
export class CaseFolding1763642510000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const rows = (await runner.query(
      `SELECT collname FROM pg_collation
       WHERE collnamespace = 'pg_catalog'::regnamespace AND collencoding IN (-1, pg_char_to_encoding('UTF8'))`,
    )) as { collname: string }[];
    const present = new Set(rows.map(({ collname }) => collname));
    const collation = COLLATIONS.find((name) => present.has(name))!;
    // By way of upper case, so that what has several small letters has one; the sigma at a word's end is one that depends
    // on what follows.
    await runner.query(`
      CREATE FUNCTION case_folded(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
      RETURN replace(lower(upper(given COLLATE pg_catalog."${collation}")), 'ς', 'σ')`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
