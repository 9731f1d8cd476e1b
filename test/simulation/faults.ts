import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A condition of the delivery code that is taken out when the file is loaded. */
interface Planted {
  readonly name: string;
  /** Below `src/notifications/delivery`, compiled. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const STATEMENTS = 'delivery-statements.js';

export const PLANTED: readonly Planted[] = [
  {
    name: 'a claim does not wait for an attempt under way',
    file: STATEMENTS,
    find: 'other.leased_until > clock_timestamp()',
    replace: 'false',
  },
  {
    name: 'a claim does not look at earlier events',
    file: STATEMENTS,
    find: "ELSE ${BY_OPERATOR('other')} OR other.event_sequence < d.event_sequence END",
    replace: 'ELSE false END',
  },
  {
    name: 'every row is free',
    file: STATEMENTS,
    find: '(d.leased_until IS NULL OR d.leased_until < clock_timestamp())',
    replace: 'true',
  },
  {
    name: 'a lease is shorter than the wait time',
    file: STATEMENTS,
    find: '/ 1000.0 + ',
    replace: '/ 1000000.0 + 0 * ',
  },
  {
    name: 'an attempt begins at any age',
    file: STATEMENTS,
    find: 'MAY_START_MS = 12_000',
    replace: 'MAY_START_MS = 12_000_000',
  },
  {
    name: 'a claim ignores a suspension',
    file: STATEMENTS,
    find: "WHERE s.state = 'ACTIVE' AND s.deleted_datetime IS NULL),\n   in_order",
    replace: 'WHERE s.deleted_datetime IS NULL),\n   in_order',
  },
];

/** @throws Error when the fault cannot be planted any more: the code has moved, and the fault must move with it. */
export function plant(name: string): void {
  const fault = PLANTED.find((planted) => planted.name === name);
  if (fault === undefined) throw new Error(`There is no fault "${name}".`);
  const file = join(__dirname, '../../src/notifications/delivery', fault.file);
  const source = readFileSync(file, 'utf8');
  if (source.split(fault.find).length !== 2) throw new Error(`"${name}" does not fit into ${fault.file} any more.`);
  const { extensions } = createRequire(__filename);
  const load = extensions['.js'];
  extensions['.js'] = (module, filename) => {
    if (filename !== file) return load(module, filename);
    const compiled = module as NodeJS.Module & { _compile(text: string, name: string): void };
    compiled._compile(source.replace(fault.find, fault.replace), filename);
  };
}
